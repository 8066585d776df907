//! Limits of one key at two nodes.

use std::time::{Duration, Instant};

use domain::{LimitOverrides, ProblemCode};

use super::pair::NodePair;
use crate::{caller::Caller, rate_limits::remaining_and_reset};

/// The timeout of a wait. Streams notice within 15 seconds that their client has disconnected.
const TIMEOUT: Duration = Duration::from_secs(40);
/// The burst of a quota of one unit a minute, so that little is refilled during a test.
const BURST: u32 = 40;

/// A key with its own limits, as a caller of each node.
async fn key_at_both(pair: &NodePair, limits: LimitOverrides) -> [Caller; 2] {
    let caller = pair.a.api.caller_with_key(|key| key.limits = limits);
    let caller = caller.await;
    let other = pair.b.api.caller(Some(caller.key()));
    [caller, other]
}

/// Waits until a node counts together with the other: a new key with one unit has it once.
async fn wait_until_shared(pair: &NodePair) {
    let start = Instant::now();
    loop {
        let limits = LimitOverrides {
            requests_per_minute: Some(1),
            requests_burst: Some(1),
            ..LimitOverrides::default()
        };
        let [a, b] = key_at_both(pair, limits).await;
        a.get("/api/principal").await.ok();
        if b.get("/api/principal").await.status == 429 {
            return;
        }
        assert!(start.elapsed() < TIMEOUT, "each node counts on its own");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_granted_its_limit_at_both_nodes_together() {
    let pair = NodePair::start().await;
    wait_until_shared(&pair).await;
    let limits = LimitOverrides {
        requests_per_minute: Some(1),
        requests_burst: Some(BURST),
        ..LimitOverrides::default()
    };
    let callers = key_at_both(&pair, limits).await;
    let start = Instant::now();
    let (mut granted, mut rejected) = (0, 0);
    while rejected < 20 {
        let requests = callers.each_ref().map(|it| it.get("/api/principal"));
        for response in futures::future::join_all(requests).await {
            if response.status == 200 {
                granted += 1;
                let (remaining, seconds) = remaining_and_reset(&response, "requests");
                // Both requests may have been counted, and each node holds at most one unit.
                let left = BURST - granted.min(BURST);
                assert!(
                    remaining <= left + 3 && left <= remaining + 3,
                    "{remaining} of {left}"
                );
                assert!(seconds <= 60);
            } else {
                rejected += 1;
                response.problem(ProblemCode::RateLimited);
                assert_eq!(remaining_and_reset(&response, "requests").0, 0);
            }
        }
        assert!(start.elapsed() < TIMEOUT);
    }
    let refilled = u32::try_from(start.elapsed().as_secs() / 60).expect("a short test");
    assert_eq!(granted, BURST + refilled);
    pair.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_names_the_time_after_which_any_node_admits_a_request() {
    let pair = NodePair::start().await;
    wait_until_shared(&pair).await;
    let limits = LimitOverrides {
        requests_per_minute: Some(60),
        requests_burst: Some(5),
        ..LimitOverrides::default()
    };
    let [a, b] = key_at_both(&pair, limits).await;
    let start = Instant::now();
    while a.get("/api/principal").await.status == 200 {
        assert!(start.elapsed() < TIMEOUT, "nothing is rejected");
    }
    let rejected = b.get("/api/principal").await;
    rejected.problem(ProblemCode::RateLimited);
    let wait: u64 = rejected.header("retry-after").parse().expect("seconds");
    assert_eq!(wait, 1);
    tokio::time::sleep(Duration::from_secs(wait)).await;
    b.get("/api/principal").await.ok();
    pair.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_counted_at_both_nodes() {
    let pair = NodePair::start().await;
    wait_until_shared(&pair).await;
    let limits = LimitOverrides {
        streams: Some(2),
        ..LimitOverrides::default()
    };
    let [a, b] = key_at_both(&pair, limits).await;
    let open = |caller: &Caller| {
        let request = caller.request("GET", "/api/events?since=0");
        request.header("Accept", "text/event-stream").open()
    };
    let (first, second) = (open(&a).await, open(&b).await);
    assert_eq!(
        (first.status().as_u16(), second.status().as_u16()),
        (200, 200)
    );
    for caller in [&a, &b] {
        assert_eq!(open(caller).await.status().as_u16(), 429);
    }
    drop(first);
    let start = Instant::now();
    let third = loop {
        let response = open(&b).await;
        if response.status().as_u16() == 200 {
            break response;
        }
        assert!(start.elapsed() < TIMEOUT, "the stream still counts");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(open(&a).await.status().as_u16(), 429);
    drop((second, third));
    pair.stop().await;
}
