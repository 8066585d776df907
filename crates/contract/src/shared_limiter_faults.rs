//! `RateLimiter`: the units of several nodes, of which one is killed or that cannot reach the counters.

use std::time::Instant;

use domain::Quota;
use tokio::time::sleep;

use crate::{
    rate_limiter::{exhaust, slow, take},
    shared_rate_limiter::{NODES, POLL, SharedLimiters, TIMEOUT},
};

/// The units that a killed node granted stay used, and it loses at most one slice of the others.
pub async fn a_killed_node_loses_at_most_one_slice(nodes: &impl SharedLimiters) {
    let (quota, start) = (Quota::new(60, 100), Instant::now());
    for _ in 0..10 {
        assert!(take(nodes.node(0), 1, quota).await.is_admitted);
    }
    nodes.kill(0).await;
    let (granted, _) = exhaust(nodes.node(1), 1, quota).await;
    let refilled = u32::try_from(start.elapsed().as_secs()).unwrap_or(u32::MAX);
    assert!(granted <= 90 + refilled + 1, "{granted}");
    assert!(granted + nodes.slice(quota) >= 90, "{granted}");
}

/// Without the counters, each node counts on its own and rejects nothing that it can grant.
pub async fn units_are_granted_while_the_counters_are_unreachable(nodes: &impl SharedLimiters) {
    assert!(take(nodes.node(0), 1, slow(5)).await.is_admitted);
    nodes.disconnect().await;
    for number in 0..NODES {
        // A principal that the node does not know.
        let (granted, _) = exhaust(nodes.node(number), 2, slow(5)).await;
        assert_eq!(granted, 5, "at node {number}");
    }
    // A principal that it knows.
    let (granted, _) = exhaust(nodes.node(0), 1, slow(5)).await;
    assert!((3..=4).contains(&granted), "{granted}");
}

/// After a loss of the connection, units are shared again without a restart.
pub async fn units_are_shared_again_once_the_counters_can_be_reached(nodes: &impl SharedLimiters) {
    nodes.disconnect().await;
    for number in 0..NODES {
        assert!(take(nodes.node(number), 1, slow(1)).await.is_admitted);
    }
    nodes.reconnect().await;
    wait_until_shared(nodes).await;
}

/// Waits until the first two nodes share the units of principals that are not used before.
pub(crate) async fn wait_until_shared(nodes: &impl SharedLimiters) {
    let start = Instant::now();
    for holder in 100.. {
        let (one, other) = (nodes.node(0), nodes.node(1));
        assert!(take(one, holder, slow(1)).await.is_admitted);
        if !take(other, holder, slow(1)).await.is_admitted {
            return;
        }
        assert!(start.elapsed() < TIMEOUT, "each node counts on its own");
        sleep(POLL).await;
    }
}
