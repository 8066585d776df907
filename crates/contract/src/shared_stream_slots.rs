//! `RateLimiter`: the number of streams that a principal may have open at several nodes.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use ports::{RateLimiter, StreamSlot};
use tokio::{task::JoinSet, time::sleep};

use crate::{
    rate_limiter::holder,
    shared_limiter_faults::wait_until_shared,
    shared_rate_limiter::{NODES, POLL, SharedLimiters, TIMEOUT, UNUSED},
};

async fn opened(limiter: &Arc<dyn RateLimiter>, number: u32, most: u32) -> Option<StreamSlot> {
    let slot = limiter.open_stream(&holder(number), most).await;
    slot.expect("the limiter is available")
}

/// Opens a stream as soon as one is free, which MUST be within `time`.
async fn opened_within(
    time: Duration,
    limiter: &Arc<dyn RateLimiter>,
    number: u32,
    most: u32,
) -> StreamSlot {
    let start = Instant::now();
    loop {
        if let Some(slot) = opened(limiter, number, most).await {
            return slot;
        }
        assert!(start.elapsed() < time, "no slot is free after {time:?}");
        sleep(POLL).await;
    }
}

/// Streams at one node count at all others, for the same principal.
pub async fn streams_are_counted_across_nodes(nodes: &impl SharedLimiters) {
    let mut slots = Vec::new();
    for number in [0, 1, 1, 2] {
        let slot = opened(nodes.node(number), 1, 4).await;
        slots.push(slot.expect("a slot is free"));
    }
    for number in 0..NODES {
        assert!(opened(nodes.node(number), 1, 4).await.is_none());
        assert!(opened(nodes.node(number), 2, 4).await.is_some());
    }
    // The maximum of the current call applies.
    assert!(opened(nodes.node(2), 1, 5).await.is_some());
}

/// Concurrent calls at all nodes open exactly the maximum.
pub async fn concurrent_calls_at_all_nodes_open_exactly_the_maximum(nodes: &impl SharedLimiters) {
    for round in 1..=10 {
        let mut openers = JoinSet::new();
        for task in 0..24 {
            let limiter = Arc::clone(nodes.node(task % NODES));
            openers.spawn(async move { opened(&limiter, round, 5).await });
        }
        let slots = openers.join_all().await;
        let held = slots.iter().filter(|slot| slot.is_some()).count();
        assert_eq!(held, 5, "in round {round}");
    }
}

/// A dropped slot MUST be free at every node within a second.
pub async fn a_dropped_slot_is_released_at_every_node(nodes: &impl SharedLimiters) {
    let first = opened(nodes.node(0), 1, 2).await;
    let second = opened(nodes.node(0), 1, 2).await;
    assert!(first.is_some() && second.is_some());
    for number in [1, 2] {
        assert!(opened(nodes.node(number), 1, 2).await.is_none());
    }
    drop(first);
    let third = opened_within(UNUSED, nodes.node(1), 1, 2).await;
    assert!(opened(nodes.node(2), 1, 2).await.is_none());
    drop(second);
    let fourth = opened_within(UNUSED, nodes.node(2), 1, 2).await;
    assert!(opened(nodes.node(0), 1, 2).await.is_none());
    drop((third, fourth));
}

/// The streams of a killed node MUST be released after its lease, and only these.
pub async fn slots_of_a_killed_node_are_released_after_its_lease(nodes: &impl SharedLimiters) {
    let lost = [
        opened(nodes.node(0), 1, 3).await,
        opened(nodes.node(0), 1, 3).await,
    ];
    let held = opened(nodes.node(1), 1, 3).await;
    assert!(lost.iter().all(Option::is_some) && held.is_some());
    nodes.kill(0).await;
    let limit = nodes.lease() + UNUSED;
    let first = opened_within(limit, nodes.node(1), 1, 3).await;
    let second = opened_within(limit, nodes.node(2), 1, 3).await;
    assert!(opened(nodes.node(2), 1, 3).await.is_none());
    drop((lost, held, first, second));
}

/// A stream of a living node counts for as long as it is open.
pub async fn slots_of_living_nodes_outlast_the_lease(nodes: &impl SharedLimiters) {
    let held = opened(nodes.node(0), 1, 1).await;
    assert!(held.is_some());
    let end = Instant::now() + nodes.lease() + UNUSED;
    while Instant::now() < end {
        assert!(opened(nodes.node(1), 1, 1).await.is_none());
        sleep(nodes.lease() / 8).await;
    }
    drop(held);
}

/// Without the counters, each node counts its own streams.
pub async fn streams_can_be_opened_while_the_counters_are_unreachable(nodes: &impl SharedLimiters) {
    let held = opened(nodes.node(0), 1, 2).await;
    assert!(held.is_some());
    nodes.disconnect().await;
    let more = opened(nodes.node(0), 1, 2).await;
    assert!(more.is_some(), "the second of two");
    assert!(opened(nodes.node(0), 1, 2).await.is_none());
    drop(more);
    assert!(opened(nodes.node(0), 1, 2).await.is_some());
    assert!(opened(nodes.node(1), 2, 1).await.is_some());
}

/// Streams that were opened without the counters are counted once these can be reached.
pub async fn streams_are_shared_again_once_the_counters_can_be_reached(
    nodes: &impl SharedLimiters,
) {
    nodes.disconnect().await;
    let held = opened(nodes.node(0), 1, 1).await;
    assert!(held.is_some());
    nodes.reconnect().await;
    let start = Instant::now();
    while opened(nodes.node(1), 1, 1).await.is_some() {
        assert!(start.elapsed() < TIMEOUT, "the other node counts alone");
        sleep(POLL).await;
    }
    drop(held);
    opened_within(UNUSED, nodes.node(1), 1, 1).await;
}

/// Streams that were closed without the counters do not count once these can be reached.
pub async fn streams_closed_while_the_counters_are_unreachable_are_released(
    nodes: &impl SharedLimiters,
) {
    let held = opened(nodes.node(0), 1, 1).await;
    assert!(held.is_some());
    nodes.disconnect().await;
    // A call that notices it.
    drop(opened(nodes.node(0), 1, 2).await);
    drop(held);
    nodes.reconnect().await;
    wait_until_shared(nodes).await;
    drop(opened_within(UNUSED, nodes.node(1), 1, 1).await);
}

/// The streams of a node count again when it renews its lease late, as after an outage of the store.
pub async fn streams_outlast_a_lapse_of_the_lease(nodes: &impl SharedLimiters) {
    let held = opened(nodes.node(0), 1, 2).await;
    assert!(held.is_some());
    nodes.suspend(0).await;
    sleep(nodes.lease()).await;
    let second = opened_within(UNUSED, nodes.node(1), 1, 2).await;
    nodes.resume(0).await;
    assert!(opened(nodes.node(2), 1, 2).await.is_none());
    drop((held, second));
}
