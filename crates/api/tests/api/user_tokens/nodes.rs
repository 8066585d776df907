//! Tokens on two services over one Postgres.

use std::time::{Duration, Instant};

use super::{BACKEND, backend, user, withdraw};
use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    caller::Caller,
    postgres::Database,
    sockets::client::SocketClient,
};

/// The number of attempts, of which the quickest counts: a machine may stall for a second.
const ATTEMPTS: usize = 5;

async fn pair(database: &Database) -> (ApiServer, ApiServer) {
    let builder = || {
        ApiServerBuilder::default()
            .setting("DATABASE_URL", &database.url())
            .setting("SERVER__PUBLIC_URL", "https://agents.example")
    };
    let first = builder().start().await;
    let second = builder().join(&first).await;
    (first, second)
}

/// The time until a token is rejected.
async fn rejected_after(user: &Caller, began: Instant) -> Duration {
    while user.get("/api/conversations").await.status == 200 {
        assert!(began.elapsed() < Duration::from_secs(30), "still valid");
    }
    began.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_withdrawn_on_one_node_are_rejected_on_another_within_a_second() {
    let database = Database::make().await;
    let (first, second) = pair(&database).await;
    let (_, backend) = backend(&first, BACKEND).await;
    let mut quickest = Duration::MAX;
    for _ in 0..ATTEMPTS {
        let ada = user(&first, &backend, "ada").await;
        let there = second.caller(Some(ada.key()));
        there.get("/api/conversations").await.ok();
        let mut socket = SocketClient::connected(&second, &there, &["tenant"]).await;
        let began = Instant::now();
        withdraw(&backend, "ada").await;
        let rejected = rejected_after(&there, began).await;
        assert_eq!(socket.wait_for_end().await.code, 4003);
        quickest = quickest.min(rejected.max(began.elapsed()));
        if quickest < Duration::from_secs(1) {
            break;
        }
    }
    assert!(quickest < Duration::from_secs(1), "{quickest:?}");
    first.stop().await;
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_a_key_revoked_on_one_node_are_rejected_on_another_within_a_second() {
    let database = Database::make().await;
    let (first, second) = pair(&database).await;
    let mut quickest = Duration::MAX;
    for _ in 0..ATTEMPTS {
        let (id, backend) = backend(&first, BACKEND).await;
        let ada = user(&first, &backend, "ada").await;
        let there = second.caller(Some(ada.key()));
        there.get("/api/conversations").await.ok();
        let began = Instant::now();
        first.writer().delete(&format!("/api/keys/{id}")).await;
        quickest = quickest.min(rejected_after(&there, began).await);
        if quickest < Duration::from_secs(1) {
            break;
        }
    }
    assert!(quickest < Duration::from_secs(1), "{quickest:?}");
    first.stop().await;
    second.stop().await;
}
