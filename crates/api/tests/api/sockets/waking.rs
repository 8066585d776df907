//! Clients that fall asleep, and find when they wake what has become of their socket.

use std::time::{Duration, Instant};

use api::socket::SocketTimes;
use serde_json::json;

use super::client::Upgrade;
use crate::harness::Plan;

/// How long after its end a client may still find all that was sent to it.
const ASLEEP: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn who_wakes_after_its_socket_was_closed_finds_whole_frames_and_the_reason() {
    let times = SocketTimes {
        write: Duration::from_secs(1),
        ..SocketTimes::default()
    };
    let api = Plan::default().sockets(times).start().await;
    let alone = api.holder_with(|key| key.limits.streams = Some(1)).await;
    let mut slow = Upgrade::of(&api).by(&alone).narrow().open().await;
    slow.connect(json!({"channels": ["tenant"]})).await;
    // What it sent and nobody reads any more must not break its connection off.
    for number in 0..20 {
        let frame = json!({"id": 100 + number, "type": "ping"});
        slow.send_unheard(&frame.to_string()).await;
    }
    let config = json!({"instructions": "y".repeat(30_000)});
    let draft = json!({"name": "Ada", "personality": "x".repeat(8_000), "config": config});
    let patience = Instant::now();
    // Its place is free when it has been left.
    while Upgrade::of(&api).by(&alone).try_open().await.is_err() {
        assert!(patience.elapsed().as_secs() < 60, "it is kept");
        api.agent(draft.clone()).await;
    }
    tokio::time::sleep(ASLEEP).await;
    slow.send_unheard(r#"{"id":200,"type":"ping"}"#).await;
    let ended = slow.ended().await;
    assert_eq!(ended.code, 4201);
    let goodbye = ended.goodbye.expect("a goodbye");
    assert_eq!(goodbye["code"], 4201);
    assert!(goodbye["reconnectAfterMs"].is_u64(), "{goodbye}");
    let mut next = 1;
    while let Some(frame) = slow.unread() {
        if frame["type"] == "event" {
            assert_eq!(frame["event"]["seq"], next);
            next += 1;
        }
    }
    assert!(next > 1, "it was told something");
    api.stop().await;
}
