//! `/api/events` as a stream of server-sent events: its lifetime and costs.

use std::time::{Duration, Instant};

use domain::{ProblemCode, Timestamp};
use serde_json::json;

use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
    event_streams::{events_request, next, streamed},
    raw::Connection,
};

/// Before the first heartbeat, which would reveal the disconnect anyway.
const QUICKLY: Duration = Duration::from_secs(14);
/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The data on a connection, from the first event on.
async fn received(connection: &mut Connection, until: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    let began = Instant::now();
    while !until(&text) {
        assert!(began.elapsed() < TIMEOUT, "it does not come");
        let bytes = connection.receive().await;
        text.push_str(&String::from_utf8_lossy(&bytes));
    }
    text
}

fn raw_request(caller: &Caller, method: &str, path: &str) -> String {
    let key = caller.key();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n\
         Accept: text/event-stream\r\n\r\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_not_read_for_a_client_that_does_not_read() {
    let api = ApiServer::start().await;
    let personality = "Kind. ".repeat(1_300);
    let draft = json!({"name": "Ada", "personality": personality, "capabilities": ["time"]});
    let agent = id_of(&api.agent(draft).await);
    let path = format!("/api/agents/{agent}");
    // Twice the maximum size of the server's send buffers.
    for number in 1..1_000 {
        let change = json!({"name": format!("Ada {number}")});
        api.writer().patch(&path, change).await.ok();
    }
    let mut connection = Connection::open_narrow(api.address).await;
    let request = raw_request(&api.reader(), "GET", "/api/events?since=0");
    connection.send(request).await;
    let begun = received(&mut connection, |text| text.contains("id: 1\n")).await;
    assert!(!begun.contains("resync"));
    // The connection buffers far less than the log; the rest is deleted before it is read.
    let later = Timestamp::from_milliseconds(i64::MAX / 2);
    let trimmed = api
        .storage
        .maintenance
        .trim_log(later, 1_000)
        .await
        .unwrap();
    assert_eq!(trimmed, 1_000);
    let missed = received(&mut connection, |text| text.contains("\"headSeq\":1000}")).await;
    assert!(missed.contains("event: resync\nid: 1000\ndata: {\"firstSeq\":1001,\"headSeq\":1000}"));
    api.agent_id().await;
    received(&mut connection, |text| text.contains("id: 1001\n")).await;
    drop(connection);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_stream_sends_heartbeats_with_its_position() {
    let api = ApiServer::start().await;
    let mut connection = Connection::open(api.address).await;
    let path = "/api/events?types=agent.deleted";
    connection
        .send(raw_request(&api.reader(), "GET", path))
        .await;
    let begun = received(&mut connection, |text| text.contains("id: 0\n")).await;
    let retry = begun.lines().find_map(|line| line.strip_prefix("retry: "));
    let retry: u64 = retry.expect("a time").parse().unwrap();
    assert!((1_000..=3_000).contains(&retry), "{retry}");
    api.agent_id().await;
    let comment = received(&mut connection, |text| text.contains("\nid: 1\n")).await;
    assert!(comment.contains("\n:\nid: 1\n"), "{comment}");
    drop(connection);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn head_ends_after_the_headers() {
    let api = ApiServer::start().await;
    let one_stream = api
        .caller_with_key(|key| key.limits.streams = Some(1))
        .await;
    let mut connection = Connection::open(api.address).await;
    let head = raw_request(&one_stream, "HEAD", "/api/events");
    // The second request uses the same connection, and the only slot is free.
    for _ in 0..2 {
        connection.send(&head).await;
        let response = received(&mut connection, |text| text.ends_with("\r\n\r\n")).await;
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        assert!(response.contains("content-type: text/event-stream\r\n"));
        assert!(response.contains("x-event-seq: 0\r\n"));
        assert_eq!(response.matches("\r\n\r\n").count(), 1, "{response}");
    }
    drop(connection);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disconnected_client_frees_its_slot() {
    let api = ApiServer::start().await;
    let two_streams = api
        .caller_with_key(|key| key.limits.streams = Some(2))
        .await;
    let first = streamed(&two_streams, "").await;
    let _second = streamed(&two_streams, "").await;
    let rejected = events_request(&two_streams, "").send().await;
    rejected.problem(ProblemCode::TooManyStreams);
    assert_eq!(rejected.header("retry-after"), "1");
    two_streams.get("/api/events").await.ok();
    drop(first);
    let left = Instant::now();
    while events_request(&two_streams, "").open().await.status() != 200 {
        assert!(left.elapsed() < QUICKLY, "its place stays taken");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_when_its_key_is_revoked_or_expires() {
    let api = ApiServer::start().await;
    let draft = json!({"name": "a stream's", "scopes": ["events:read", "agents:read"]});
    let made = api.writer().post("/api/keys", draft).await.created();
    let revoked = api.caller(made["secret"].as_str());
    let ends_at = api_clock_in(Duration::from_secs(3));
    let ending = api
        .caller_with_key(|key| key.expires_at = Some(ends_at))
        .await;
    let mut of_revoked = streamed(&revoked, "").await;
    let mut of_ending = streamed(&ending, "").await;
    let mut of_others = streamed(&api.reader(), "").await;
    let key = format!("/api/keys/{}", id_of(&made));
    assert_eq!(api.writer().delete(&key).await.status, 204);
    assert_eq!(of_revoked.remaining().await, []);
    assert_eq!(of_ending.remaining().await, []);
    api.agent_id().await;
    assert_eq!(next(&mut of_others, 1).await.len(), 1);
    api.stop().await;
}

fn api_clock_in(time: Duration) -> Timestamp {
    let (clock, _) = api::wiring::system();
    clock.now() + time
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_cleanly_when_the_server_drains() {
    let api = ApiServer::start().await;
    let mut stream = streamed(&api.reader(), "").await;
    api.agent_id().await;
    let reading = async {
        next(&mut stream, 1).await;
        stream.remaining().await
    };
    let began = Instant::now();
    let (rest, ()) = tokio::join!(reading, api.stop());
    assert_eq!(rest, []);
    assert!(
        began.elapsed() < Duration::from_secs(15),
        "no caller waited for it"
    );
}
