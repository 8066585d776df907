//! `RateLimiter`: the contract of a limiter whose units are shared by several nodes.

use std::{
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use domain::{Quota, RatePolicy};
use ports::RateLimiter;
use tokio::{task::JoinSet, time::sleep};

use crate::rate_limiter::{INTERVAL, exhaust, fast, holder, holder_in, slow, take, take_units};

/// Expands to one test per promise of a limiter that several nodes share. `$fixture` is the path
/// (from the crate's root) of an async function that returns a [`SharedLimiters`].
#[macro_export]
macro_rules! shared_rate_limiter_contract {
    ($fixture:path) => {
        $crate::rate_limiter_contract! {
            $fixture;
            shared_rate_limiter {
                nodes_that_compete_are_granted_the_quota_and_no_more,
                concurrent_requests_at_all_nodes_are_granted_exactly_the_burst,
                the_whole_burst_is_available_at_each_single_node,
                units_taken_at_one_node_are_missing_at_the_others,
                remaining_includes_the_units_taken_at_other_nodes,
                units_left_unused_at_one_node_become_available_at_another,
                units_returned_late_are_not_granted_twice,
                several_units_are_granted_together_at_any_node,
                more_in_is_true_for_units_taken_at_another_node,
                quotas_are_separate_at_all_nodes,
            }
            shared_limiter_faults {
                a_killed_node_loses_at_most_one_slice,
                units_are_granted_while_the_counters_are_unreachable,
                units_are_shared_again_once_the_counters_can_be_reached,
            }
            shared_stream_slots {
                streams_are_counted_across_nodes,
                concurrent_calls_at_all_nodes_open_exactly_the_maximum,
                a_dropped_slot_is_released_at_every_node,
                slots_of_a_killed_node_are_released_after_its_lease,
                slots_of_living_nodes_outlast_the_lease,
                streams_can_be_opened_while_the_counters_are_unreachable,
                streams_are_shared_again_once_the_counters_can_be_reached,
                streams_closed_while_the_counters_are_unreachable_are_released,
                streams_outlast_a_lapse_of_the_lease,
            }
        }
    };
}

/// The number of nodes of a fixture.
pub const NODES: usize = 3;

/// The limiters of [`NODES`] nodes over one storage of counters, and their faults.
#[async_trait]
pub trait SharedLimiters: Send + Sync {
    /// Returns the limiter of a node, by its number from 0.
    fn node(&self, number: usize) -> &Arc<dyn RateLimiter>;

    /// Ends a node as a killed process ends: it returns no units, releases no streams and renews
    /// nothing. Its slots may be dropped later, which has no effect.
    async fn kill(&self, number: usize);

    /// The number of units that one node may hold without using them.
    fn slice(&self, quota: Quota) -> u32;

    /// The time after which the streams of a killed node MUST be released.
    fn lease(&self) -> Duration;

    /// Stops a node from renewing its lease until [`resume`](Self::resume). No effect on a limiter
    /// that does not depend on leases.
    async fn suspend(&self, number: usize);

    /// Renews the lease of a suspended node, from now on.
    async fn resume(&self, number: usize);

    /// Makes the counters unreachable for all nodes, as after a cut of the network.
    async fn disconnect(&self);

    /// Makes the counters reachable again.
    async fn reconnect(&self);
}

/// The timeout of a wait, so that a test fails instead of hanging.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);
/// The interval at which a condition is checked.
pub(crate) const POLL: Duration = Duration::from_millis(20);
/// The time after which a unit that a node took and did not use MUST be available at the others:
/// one second, with a margin for slow machines.
pub(crate) const UNUSED: Duration = Duration::from_millis(1_500);
/// The time for which nodes compete.
const COMPETITION: Duration = Duration::from_secs(4);

/// Takes single units at a node until `enough` were granted, or `time` has passed.
async fn collect(limiter: &Arc<dyn RateLimiter>, quota: Quota, enough: u32, time: Duration) -> u32 {
    let (start, mut granted) = (Instant::now(), 0);
    while granted < enough {
        let taken = take(limiter, 1, quota).await;
        if taken.is_admitted {
            granted += 1;
        } else if start.elapsed() > time {
            break;
        } else {
            sleep(taken.more_in.min(POLL)).await;
        }
    }
    granted
}

/// All nodes together MUST grant at most `burst + per_minute × time` units. If they compete, it MUST be
/// no less, except for the units that each may hold, or one percent.
pub async fn nodes_that_compete_are_granted_the_quota_and_no_more(nodes: &impl SharedLimiters) {
    let quota = Quota::new(6_000, 100);
    let mut takers = JoinSet::new();
    let start = Instant::now();
    for number in 0..NODES {
        for _ in 0..4 {
            let limiter = Arc::clone(nodes.node(number));
            takers.spawn(async move {
                let mut granted = 0;
                while start.elapsed() < COMPETITION {
                    let taken = take(&limiter, 1, quota).await;
                    granted += u32::from(taken.is_admitted);
                    if !taken.is_admitted {
                        sleep(Duration::from_millis(1)).await;
                    }
                }
                granted
            });
        }
    }
    let granted: u32 = takers.join_all().await.into_iter().sum();
    let refilled = |time: Duration| u32::try_from(time.as_millis() / 10).unwrap_or(u32::MAX);
    let most = 100 + refilled(start.elapsed()) + 1;
    assert!(granted <= most, "{granted} of {most}");
    let due = 100 + refilled(COMPETITION);
    let held = u32::try_from(NODES).unwrap_or(u32::MAX) * nodes.slice(quota);
    let least = due - held.max(due / 100);
    assert!(granted >= least, "{granted}, although {least} were there");
}

/// Concurrent requests at all nodes are granted exactly the burst.
pub async fn concurrent_requests_at_all_nodes_are_granted_exactly_the_burst(
    nodes: &impl SharedLimiters,
) {
    let mut takers = JoinSet::new();
    for task in 0..24 {
        let limiter = Arc::clone(nodes.node(task % NODES));
        takers.spawn(async move {
            let mut granted = 0;
            for _ in 0..20 {
                granted += u32::from(take(&limiter, 1, slow(100)).await.is_admitted);
            }
            granted
        });
    }
    let granted: u32 = takers.join_all().await.into_iter().sum();
    assert!(granted <= 100, "{granted}");
    let left = collect(nodes.node(0), slow(100), 100, UNUSED).await;
    assert_eq!(granted + left, 100);
}

/// A holder that was idle gets its whole burst at one node.
pub async fn the_whole_burst_is_available_at_each_single_node(nodes: &impl SharedLimiters) {
    for (number, holder) in (0..NODES).zip(1..) {
        for (holder, quota) in [(holder, slow(20)), (10 + holder, Quota::new(60, 20))] {
            let (granted, _) = exhaust(nodes.node(number), holder, quota).await;
            assert!(granted >= 20, "{granted} at node {number}");
        }
    }
}

/// A unit that was granted by one node is granted by no other.
pub async fn units_taken_at_one_node_are_missing_at_the_others(nodes: &impl SharedLimiters) {
    for _ in 0..7 {
        assert!(take(nodes.node(0), 1, slow(10)).await.is_admitted);
    }
    let granted = collect(nodes.node(1), slow(10), 10, UNUSED).await;
    assert_eq!(granted, 3);
    assert!(!take(nodes.node(2), 1, slow(10)).await.is_admitted);
    assert!(!take(nodes.node(0), 1, slow(10)).await.is_admitted);
}

/// `remaining` is true for all nodes together, to within what the others hold.
pub async fn remaining_includes_the_units_taken_at_other_nodes(nodes: &impl SharedLimiters) {
    for _ in 0..50 {
        assert!(take(nodes.node(0), 1, slow(100)).await.is_admitted);
    }
    let taken = take(nodes.node(1), 1, slow(100)).await;
    assert!((48..=49).contains(&taken.remaining), "{taken:?}");
}

/// A node MUST return what it took ahead of need and did not use.
pub async fn units_left_unused_at_one_node_become_available_at_another(
    nodes: &impl SharedLimiters,
) {
    let (quota, start) = (Quota::new(600, 100), Instant::now());
    assert!(take(nodes.node(0), 1, quota).await.is_admitted);
    let granted = collect(nodes.node(1), quota, u32::MAX, UNUSED).await;
    let refilled = u32::try_from(start.elapsed().as_millis() / 100).unwrap_or(u32::MAX);
    assert!(granted <= 99 + refilled + 1, "{granted}");
    // The last one or two may be under way.
    assert!(granted + 2 >= 99 + refilled, "{granted} of {refilled} more");
}

/// Units that a node held for most of a second and then returned MUST NOT have been refilled
/// meanwhile.
pub async fn units_returned_late_are_not_granted_twice(nodes: &impl SharedLimiters) {
    let quota = Quota::new(600, 100);
    assert!(take(nodes.node(0), 1, quota).await.is_admitted);
    sleep(Duration::from_millis(900)).await;
    let start = Instant::now();
    let mut granted = collect(nodes.node(1), quota, u32::MAX, Duration::ZERO).await;
    granted += collect(nodes.node(2), quota, u32::MAX, Duration::from_millis(400)).await;
    let refilled = u32::try_from(start.elapsed().as_millis() / 100).unwrap_or(u32::MAX);
    assert!(granted <= 100 + refilled + 1, "{granted} in {refilled}");
}

/// Several units are granted together or not at all, wherever the others were taken.
pub async fn several_units_are_granted_together_at_any_node(nodes: &impl SharedLimiters) {
    assert!(take_units(nodes.node(0), 1, slow(10), 6).await.is_admitted);
    assert!(!take_units(nodes.node(1), 1, slow(10), 5).await.is_admitted);
    let start = Instant::now();
    while !take_units(nodes.node(2), 1, slow(10), 4).await.is_admitted {
        assert!(start.elapsed() < UNUSED, "4 of 10 are not granted after 6");
        sleep(POLL).await;
    }
    assert!(!take(nodes.node(1), 1, slow(10)).await.is_admitted);
}

/// The same request succeeds after `more_in`, although another node used up the units.
pub async fn more_in_is_true_for_units_taken_at_another_node(nodes: &impl SharedLimiters) {
    for (holder, number) in (1..).zip([1, 2, 0]) {
        exhaust(nodes.node(0), holder, fast(5)).await;
        let (_, rejected) = exhaust(nodes.node(number), holder, fast(5)).await;
        assert!(rejected.more_in <= INTERVAL, "{rejected:?}");
        sleep(rejected.more_in).await;
        let taken = take(nodes.node(number), holder, fast(5)).await;
        assert!(taken.is_admitted, "{taken:?} after {rejected:?}");
    }
}

/// Principals, tenants and policies have their own units at all nodes.
pub async fn quotas_are_separate_at_all_nodes(nodes: &impl SharedLimiters) {
    let holders = [holder(1), holder(2), holder_in("other", 1)];
    for holder in &holders {
        for policy in [RatePolicy::Requests, RatePolicy::Chat] {
            for (number, is_free) in [(0, true), (1, false), (2, false)] {
                let limiter = nodes.node(number);
                let taken = limiter.take(holder, policy, slow(1), NonZeroU32::MIN);
                let taken = taken.await.expect("the limiter is available");
                assert_eq!(taken.is_admitted, is_free, "{holder:?} {policy:?} {number}");
            }
        }
    }
}
