//! The lifetime of the credentials of sockets.

use std::time::{Duration, Instant};

use domain::Timestamp;
use serde_json::{Value, json};

use super::{
    access::create_key,
    client::{SocketClient, Upgrade},
};
use crate::api_server::ApiServer;

fn in_milliseconds(milliseconds: i64) -> Timestamp {
    let (clock, _) = api::wiring::system();
    Timestamp::from_milliseconds(clock.now().milliseconds() + milliseconds)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_ends_within_a_second_when_its_key_is_revoked() {
    let api = ApiServer::start().await;
    let (id, caller) = create_key(&api, &["events:read"]).await;
    let mut by_header = SocketClient::connected(&api, &caller, &["tenant"]).await;
    let mut by_token = Upgrade::new(&api).open().await;
    by_token
        .connect(json!({"channels": [], "token": caller.key()}))
        .await;
    let made = caller.post("/api/ws/tickets", json!({})).await.created();
    let path = format!("/api/ws?ticket={}", made["ticket"].as_str().unwrap());
    let mut by_ticket = Upgrade::with_path(&api, &path).open().await;
    let mut other = SocketClient::connected(&api, &api.reader(), &["tenant"]).await;
    let began = Instant::now();
    assert_eq!(
        api.writer().delete(&format!("/api/keys/{id}")).await.status,
        204
    );
    for socket in [&mut by_header, &mut by_token, &mut by_ticket] {
        let ended = socket.wait_for_end().await;
        assert_eq!(ended.code, 4003);
        assert_eq!(ended.goodbye.unwrap()["reconnectAfterMs"], Value::Null);
    }
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    other.expect_success("ping", json!({})).await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_ends_with_its_key_unless_it_was_refreshed() {
    let api = ApiServer::start().await;
    let end = in_milliseconds(1_500);
    let ending = api.caller_with_key(|key| key.expires_at = Some(end)).await;
    let mut left = SocketClient::connected(&api, &ending, &[]).await;
    assert_eq!(left.wait_for_close().await, 4203);
    let (id, caller) = create_key(&api, &["events:read", "agents:read"]).await;
    let mut stays = SocketClient::connected(&api, &caller, &["tenant"]).await;
    let mut ends = SocketClient::connected(&api, &caller, &["tenant"]).await;
    let rotation = json!({"overlapSeconds": 60});
    let rotated = api
        .writer()
        .post(&format!("/api/keys/{id}/rotate"), rotation)
        .await
        .ok();
    let new = rotated["secret"].as_str().unwrap();
    let foreign = stays
        .expect_problem("refresh", json!({"token": api.reader().key()}))
        .await;
    assert_eq!(foreign["code"], "invalid_credentials");
    assert_eq!(
        stays.expect_success("refresh", json!({"token": new})).await,
        json!({})
    );
    // Now the old secret is invalid.
    api.writer()
        .post(&format!("/api/keys/{id}/rotate"), json!({}))
        .await
        .ok();
    assert_eq!(ends.wait_for_close().await, 4203);
    assert_eq!(stays.wait_for_close().await, 4203);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refreshed_socket_outlives_its_first_credential() {
    let api = ApiServer::start().await;
    let (id, caller) = create_key(&api, &["events:read", "agents:read"]).await;
    let mut socket = SocketClient::connected(&api, &caller, &["tenant"]).await;
    let rotation = json!({"overlapSeconds": 1});
    let rotated = api
        .writer()
        .post(&format!("/api/keys/{id}/rotate"), rotation)
        .await
        .ok();
    let new = rotated["secret"].as_str().unwrap();
    socket
        .expect_success("refresh", json!({"token": new}))
        .await;
    let old = Upgrade::new(&api).with_caller(&caller);
    let mut old = old.open().await;
    assert_eq!(old.wait_for_close().await, 4203);
    api.agent_id().await;
    assert_eq!(socket.event().await["type"], "agent.created");
    api.stop().await;
}
