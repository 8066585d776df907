//! Two services that share signals and limits through a Redis server.

use std::time::{Duration, Instant};

use dev_tools::redis_server::RedisProcess;
use futures::future::join_all;
use serde_json::{Value, json};

use super::pair::{Node, NodePair};
use crate::sockets::client::SocketClient;

/// Less than the second after which a node reads the log without a signal.
const BEFORE_NEXT_READ: Duration = Duration::from_millis(400);
const TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const ROUNDS: usize = 5;

async fn checks(node: &Node) -> Value {
    let ready = node.api.anonymous().get("/readyz?verbose").await.ok();
    ready["checks"].clone()
}

async fn wait_for_redis(pair: &NodePair, status: &str) {
    let since = Instant::now();
    let expected = json!({"store": "ok", "redis_signals": status, "redis_limits": status});
    for node in [&pair.a, &pair.b] {
        while checks(node).await != expected {
            assert!(since.elapsed() < TIMEOUT, "Redis is not {status}");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

/// Creates conversations at one node and returns the median time until they arrive at the other.
async fn delay(pair: &NodePair, socket: &mut SocketClient) -> Duration {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let since = Instant::now();
        let created = pair.conversation().await;
        let event = socket.next_of_type("event").await["event"].clone();
        assert_eq!(event["conversationId"], created);
        times.push(since.elapsed());
    }
    times.sort();
    times[ROUNDS / 2]
}

#[tokio::test(flavor = "multi_thread")]
async fn events_and_typing_go_through_redis_and_survive_it() {
    let mut server = RedisProcess::start(&[]).expect("a server");
    let pair = NodePair::start_with_settings(&[("BUS__URL", &server.url())]).await;
    wait_for_redis(&pair, "ok").await;
    let conversation = pair.conversation().await;
    let mut socket = SocketClient::connected(&pair.b.api, &pair.b.api.reader(), &["tenant"]).await;
    let sent = || {
        let stats = server.command("INFO commandstats").expect("statistics");
        let calls = stats.split("cmdstat_spublish:calls=").nth(1);
        let calls = calls.and_then(|text| text.split(',').next()?.parse::<u64>().ok());
        calls.expect("messages were sent")
    };
    let before = sent();
    let median = delay(&pair, &mut socket).await;
    assert!(median < BEFORE_NEXT_READ, "{median:?}");
    assert!(sent() > before);
    let channel = format!("conversation:{conversation}");
    let mut reader = SocketClient::connected(&pair.b.api, &pair.b.api.reader(), &[&channel]).await;
    let mut writer = SocketClient::connected(&pair.a.api, &pair.a.api.writer(), &[]).await;
    let members = json!({"conversationId": conversation, "typing": true});
    writer.expect_success("typing", members.clone()).await;
    assert_eq!(reader.next_of_type("live").await["event"]["typing"], true);
    assert_eq!(socket.next_of_type("live").await["event"]["typing"], true);

    server.kill();
    wait_for_redis(&pair, "unavailable").await;
    let median = delay(&pair, &mut socket).await;
    assert!(
        median < BEFORE_NEXT_READ,
        "{median:?}, through the database"
    );
    server.restart().expect("a server");
    wait_for_redis(&pair, "ok").await;
    delay(&pair, &mut socket).await;
    pair.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_at_both_nodes_is_held_to_its_limit() {
    const BURST: usize = 20;
    let server = RedisProcess::start(&[]).expect("a server");
    let pair = NodePair::start_with_settings(&[
        ("BUS__URL", &server.url()),
        ("LIMITS__REQUESTS__PER_MINUTE", "1"),
        ("LIMITS__REQUESTS__BURST", &BURST.to_string()),
    ])
    .await;
    wait_for_redis(&pair, "ok").await;
    let requests = (0..3 * BURST).map(|number| {
        let reader = [&pair.a, &pair.b][number % 2].api.reader();
        async move { reader.get("/api/agents").await.status }
    });
    let statuses = join_all(requests).await;
    let admitted = statuses.iter().filter(|status| **status == 200).count();
    let rejected = statuses.iter().filter(|status| **status == 429).count();
    assert_eq!((admitted, rejected), (BURST, 2 * BURST));
    pair.stop().await;
}
