//! Access at a far node.

use std::time::{Duration, Instant};

use domain::{ProblemCode, Scope};
use serde_json::json;

use super::fixture::{Regions, far_builder};
use crate::{
    api_server::{ApiServerBuilder, id_of},
    postgres::Database,
    sockets::client::{SocketClient, Upgrade},
    sse_client::EventStream,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_revoked_at_home_is_rejected_within_a_second() {
    let regions = Regions::start().await;
    let scopes = json!({"name": "short-lived", "scopes": ["agents:read"]});
    let made = regions
        .home
        .writer()
        .post("/api/keys", scopes)
        .await
        .created();
    let far = regions.far.caller(made["secret"].as_str());
    far.get("/api/agents").await.ok();
    let path = format!("/api/keys/{}", id_of(&made));
    assert_eq!(regions.home.writer().delete(&path).await.status, 204);
    let began = Instant::now();
    loop {
        let response = far.get("/api/agents").await;
        if response.status == 401 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(1), "still accepted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_credential_is_rejected() {
    let regions = Regions::start().await;
    let unknown = regions.far.caller(Some("agk_nonsense"));
    let rejected = unknown.get("/api/agents").await;
    rejected.problem(ProblemCode::InvalidCredentials);
    let token = regions.far.caller(Some("a.b.c"));
    let rejected = token.get("/api/agents").await;
    rejected.problem(ProblemCode::InvalidCredentials);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_at_a_far_node_opens_by_a_ticket_and_chats_at_home() {
    let regions = Regions::start().await;
    let agent = regions.home.agent_id().await;
    let far = regions.far.writer();
    let ticket = far.request("POST", "/api/ws/tickets").send().await;
    let ticket = ticket.created()["ticket"]
        .as_str()
        .expect("a ticket")
        .to_owned();
    let path = format!("/api/ws?ticket={ticket}");
    let mut socket = Upgrade::with_path(&regions.far, &path).open().await;
    let connected = socket.connect(json!({"channels": []})).await;
    assert_eq!(connected["region"], "eu");
    let message = json!({"agentId": agent, "message": "Hello"});
    let result = socket.expect_success("chat", message).await;
    let completed = socket.events_to("turn.completed").await;
    let last = completed.last().expect("events");
    assert_eq!(last["turnId"], result["turn"]["id"]);
    let path = format!("/api/turns/{}", id_of(&result["turn"]));
    assert_eq!(
        regions.home.reader().get(&path).await.ok()["status"],
        "completed"
    );
    let unknown = json!({"agentId": result["turn"]["id"], "message": "Hello"});
    let problem = socket.expect_problem("chat", unknown).await;
    assert_eq!(problem["code"], "agent_not_found");
    let cancel = json!({"turnId": result["turn"]["id"]});
    let cancelled = socket.expect_success("cancel", cancel).await;
    assert_eq!(cancelled["turn"]["status"], "completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_of_a_far_node_is_valid_only_on_pages_of_its_origin() {
    let (shop, other) = ("https://shop.example", "https://other.example");
    let origins = format!("{shop},{other}");
    let far = |far: ApiServerBuilder| far.setting("SERVER__ALLOWED_ORIGINS", &origins);
    let regions = Regions::start_with(far).await;
    let request = |origin: &str| {
        let far = regions.far.writer().request("POST", "/api/ws/tickets");
        far.header("Origin", origin)
    };
    let path = async || {
        let ticket = request(shop).send().await.created();
        format!("/api/ws?ticket={}", ticket["ticket"].as_str().unwrap())
    };
    let elsewhere = Upgrade::with_path(&regions.far, &path().await).header("Origin", other);
    let rejected = elsewhere.expect_rejection().await;
    assert_eq!(rejected.status_and_code(), (401, "invalid_ticket"));
    let own = Upgrade::with_path(&regions.far, &path().await).header("Origin", shop);
    drop(own.open().await);
    let unknown = request("https://evil.example").send().await;
    unknown.problem(ProblemCode::OriginNotAllowed);
}

#[tokio::test(flavor = "multi_thread")]
async fn access_ends_some_time_after_the_last_report_of_home() {
    let regions = Regions::start_with(|far| far.setting("REGION__OFFLINE_FOR", "0s")).await;
    let key = regions.home.caller_with_scopes(&[Scope::AgentsRead]).await;
    let far = regions.far.caller(Some(key.key()));
    far.get("/api/agents").await.ok();
    let stopping = Instant::now();
    regions.home.stop().await;
    assert!(
        stopping.elapsed() < Duration::from_secs(4),
        "the far node delays the end of home"
    );
    far.get("/api/agents").await.ok();
    let began = Instant::now();
    loop {
        let response = far.get("/api/agents").await;
        if response.status == 503 {
            response.problem(ProblemCode::HomeUnavailable);
            let readiness = regions.far.anonymous().get("/readyz").await;
            readiness.problem(ProblemCode::HomeUnavailable);
            break;
        }
        response.ok();
        assert!(began.elapsed() < Duration::from_secs(7), "still accepted");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn open_sockets_and_streams_end_when_access_does() {
    let regions = Regions::start_with(|far| far.setting("REGION__OFFLINE_FOR", "0s")).await;
    let far = regions.far.reader();
    let mut socket = SocketClient::connected(&regions.far, &far, &["tenant"]).await;
    let stream = far.request("GET", "/api/events");
    let mut stream = EventStream::open(stream.header("Accept", "text/event-stream")).await;
    regions.home.stop().await;
    // Heartbeats would go on for ever.
    let end = tokio::time::timeout(Duration::from_secs(20), socket.wait_for_end());
    let end = end.await.expect("a close");
    let goodbye = end.goodbye.expect("a goodbye");
    assert_eq!((end.code, &goodbye["code"]), (4205, &4205.into()));
    assert_eq!(goodbye["reason"], "use_another_region");
    assert!(goodbye["reconnectAfterMs"].is_u64(), "{goodbye}");
    stream.remaining().await;
    let began = Instant::now();
    while far.get("/api/events").await.status != 503 {
        assert!(began.elapsed() < Duration::from_secs(15), "still accepted");
    }
    let rejected = Upgrade::new(&regions.far).with_caller(&far);
    let rejected = rejected.expect_rejection().await;
    assert_eq!(rejected.status_and_code(), (503, "home_unavailable"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_far_node_with_a_replica_of_another_store_accepts_no_credential() {
    let regions = Regions::start().await;
    let other = Database::make().await;
    let migrated = ApiServerBuilder::default().setting("DATABASE_URL", &other.url());
    migrated.start().await.stop().await;
    let url = format!("http://{}", regions.home.address);
    let wrong = far_builder(&other, &url).join(&regions.home).await;
    let began = Instant::now();
    // The home region reports every second.
    while began.elapsed() < Duration::from_millis(2_500) {
        let rejected = wrong.reader().get("/api/agents").await;
        rejected.problem(ProblemCode::HomeUnavailable);
    }
    let readiness = wrong.anonymous().get("/readyz").await;
    readiness.problem(ProblemCode::HomeUnavailable);
}
