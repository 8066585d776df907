//! Events and typing of one node at sockets of the other.

use std::time::{Duration, Instant};

use serde_json::json;

use super::pair::NodePair;
use crate::sockets::client::SocketClient;

/// Less than the second after which a node reads the log without a signal.
const BEFORE_NEXT_READ: Duration = Duration::from_millis(400);
const ROUNDS: usize = 5;

#[tokio::test(flavor = "multi_thread")]
async fn events_of_the_other_node_arrive_before_the_next_read_of_the_log() {
    let pair = NodePair::start().await;
    let mut socket = SocketClient::connected(&pair.b.api, &pair.b.api.reader(), &["tenant"]).await;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let since = Instant::now();
        let created = pair.conversation().await;
        let event = socket.next_of_type("event").await["event"].clone();
        assert_eq!(event["conversationId"], created);
        times.push(since.elapsed());
    }
    times.sort();
    assert!(times[ROUNDS / 2] < BEFORE_NEXT_READ, "{times:?}");
    pair.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn typing_at_one_node_is_shown_at_the_other() {
    let pair = NodePair::start().await;
    let conversation = pair.conversation().await;
    let channel = format!("conversation:{conversation}");
    let mut reader = SocketClient::connected(&pair.b.api, &pair.b.api.reader(), &[&channel]).await;
    let mut writer = SocketClient::connected(&pair.a.api, &pair.a.api.writer(), &[]).await;
    for typing in [true, false] {
        let members = json!({"conversationId": conversation, "typing": typing});
        writer.expect_success("typing", members).await;
        let event = reader.next_of_type("live").await["event"].clone();
        assert_eq!(event["type"], "typing.updated");
        assert_eq!(event["typing"], typing);
    }
    pair.stop().await;
}
