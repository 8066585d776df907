//! Clients that are suspended, and find their socket closed when they resume.

use std::time::{Duration, Instant};

use api::socket::SocketTimeouts;
use serde_json::json;

use super::client::Upgrade;
use crate::api_server::ApiServerBuilder;

/// The time for which a client can still read what was sent before the end.
const ASLEEP: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_wakes_after_a_close_reads_whole_frames_and_the_reason() {
    let times = SocketTimeouts {
        write: Duration::from_secs(1),
        ..SocketTimeouts::default()
    };
    let api = ApiServerBuilder::default().sockets(times).start().await;
    let alone = api
        .caller_with_key(|key| key.limits.streams = Some(1))
        .await;
    let mut slow = Upgrade::new(&api)
        .with_caller(&alone)
        .with_small_buffers()
        .open()
        .await;
    slow.connect(json!({"channels": ["tenant"]})).await;
    // Unread input must not reset the connection.
    for number in 0..20 {
        let frame = json!({"id": 100 + number, "type": "ping"});
        slow.send_ignoring_errors(&frame.to_string()).await;
    }
    let config = json!({"instructions": "y".repeat(30_000)});
    let draft = json!({"name": "Ada", "personality": "x".repeat(8_000), "config": config});
    let patience = Instant::now();
    // Its slot is free after the disconnect.
    while Upgrade::new(&api)
        .with_caller(&alone)
        .try_open()
        .await
        .is_err()
    {
        assert!(patience.elapsed().as_secs() < 60, "it is kept");
        api.agent(draft.clone()).await;
    }
    tokio::time::sleep(ASLEEP).await;
    slow.send_ignoring_errors(r#"{"id":200,"type":"ping"}"#)
        .await;
    let ended = slow.wait_for_end().await;
    assert_eq!(ended.code, 4201);
    let goodbye = ended.goodbye.expect("a goodbye");
    assert_eq!(goodbye["code"], 4201);
    assert!(goodbye["reconnectAfterMs"].is_u64(), "{goodbye}");
    let mut next = 1;
    while let Some(frame) = slow.take_kept_frame() {
        if frame["type"] == "event" {
            assert_eq!(frame["event"]["seq"], next);
            next += 1;
        }
    }
    assert!(next > 1, "it received events");
    api.stop().await;
}
