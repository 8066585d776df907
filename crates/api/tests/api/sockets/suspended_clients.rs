//! Clients that are suspended, and find their socket closed when they resume.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{
    client::Upgrade,
    slow_client::{self, large_draft},
};

/// The time for which a client can still read what was sent before the end.
const ASLEEP: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_wakes_after_a_close_reads_whole_frames_and_the_reason() {
    let api = slow_client::server(Duration::from_secs(1)).await;
    let alone = api
        .caller_with_key(|key| key.limits.streams = Some(1))
        .await;
    let mut slow = slow_client::connect(&api, &alone).await;
    // Unread input must not reset the connection.
    for number in 0..20 {
        let frame = json!({"id": 100 + number, "type": "ping"});
        slow.send_ignoring_errors(&frame.to_string()).await;
    }
    let draft = large_draft();
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
