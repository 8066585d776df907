//! Slow clients: each is disconnected at its deadline, and others are not delayed.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    bad_input::head,
    raw::Connection,
};

/// The timeout for request headers, and the tolerance for a busy machine.
const HEAD: Duration = Duration::from_secs(5);
const SLACK: Duration = Duration::from_secs(25);

/// Sends `bytes` one by one, too slowly to finish in time, until the server closes the connection;
/// returns the elapsed time.
async fn send_slowly(connection: &mut Connection, bytes: &[u8]) -> Duration {
    let started = Instant::now();
    for byte in bytes.iter().cycle() {
        if !connection.send_if_open([*byte]).await || started.elapsed() > HEAD + SLACK {
            break;
        }
        let _ = connection.receive_for(Duration::from_millis(100)).await;
    }
    started.elapsed()
}

#[track_caller]
fn assert_in_time(took: Duration) {
    assert!(
        took >= HEAD.saturating_sub(Duration::from_secs(1)),
        "cut after {took:?}"
    );
    assert!(took <= HEAD + SLACK, "cut after {took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_headers_are_cut_off() {
    let api = ApiServer::start().await;
    let mut connection = Connection::open(api.address).await;
    connection
        .send("GET /livez HTTP/1.1\r\nHost: test\r\nX-Slow: ")
        .await;
    assert_in_time(send_slowly(&mut connection, b"x").await);
    api.anonymous().get("/livez").await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_on_a_kept_alive_connection_have_the_same_timeout() {
    let api = ApiServer::start().await;
    let mut connection = Connection::open(api.address).await;
    connection
        .send("GET /livez HTTP/1.1\r\nHost: test\r\n\r\n")
        .await;
    let first = connection.receive().await;
    assert!(
        first.starts_with(b"HTTP/1.1 200"),
        "{}",
        String::from_utf8_lossy(&first)
    );
    connection
        .send("GET /livez HTTP/1.1\r\nHost: test\r\nX-Slow: ")
        .await;
    assert_in_time(send_slowly(&mut connection, b"x").await);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_alive_connection_may_be_idle_between_requests() {
    let api = ApiServer::start().await;
    let mut connection = Connection::open(api.address).await;
    for rest in [HEAD + Duration::from_secs(1), Duration::ZERO] {
        connection
            .send("GET /livez HTTP/1.1\r\nHost: test\r\n\r\n")
            .await;
        let response = connection.receive().await;
        assert!(
            response.starts_with(b"HTTP/1.1 200"),
            "{}",
            String::from_utf8_lossy(&response)
        );
        assert_eq!(connection.receive_for(rest).await, b"");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_delay_no_others() {
    // The timeout for bodies is longer than the timeout of the other callers here.
    let builder = ApiServerBuilder::default().setting("LIMITS__BODY_SECONDS", "600");
    let api = builder.start().await;
    let mut slow = Vec::new();
    for number in 0..500 {
        let mut connection = Connection::open(api.address).await;
        if number % 2 == 0 {
            connection
                .send("GET /api/agents HTTP/1.1\r\nHost: te")
                .await;
        } else {
            let length = "Content-Type: application/json\r\nContent-Length: 100\r\n";
            connection
                .send(head(&api, "POST /api/agents", length))
                .await;
        }
        slow.push(connection);
    }
    for _ in 0..20 {
        api.agent(json!({"name": "Ada"})).await;
    }
    drop(slow);
    api.stop().await;
}
