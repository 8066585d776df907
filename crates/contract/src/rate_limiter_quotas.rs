//! Separate and changed quotas of a `RateLimiter`.

use std::{num::NonZeroU32, sync::Arc};

use domain::RatePolicy;
use ports::RateLimiter;
use tokio::time::sleep;

use super::rate_limiter::{INTERVAL, exhaust, fast, holder, holder_in, slow, take, take_units};

/// Several units are granted together or not at all, and are refilled evenly.
pub async fn several_units_are_granted_together_or_not_at_all(limiter: &Arc<dyn RateLimiter>) {
    let taken = take_units(limiter, 1, slow(10), 7).await;
    assert!(taken.is_admitted);
    assert_eq!(taken.remaining, 3);
    assert!(!take_units(limiter, 1, slow(10), 4).await.is_admitted);
    assert!(take_units(limiter, 1, slow(10), 3).await.is_admitted);

    assert!(take_units(limiter, 2, fast(10), 10).await.is_admitted);
    let rejected = take_units(limiter, 2, fast(10), 5).await;
    assert!(!rejected.is_admitted);
    assert!(rejected.more_in <= 5 * INTERVAL, "{rejected:?}");
    sleep(rejected.more_in).await;
    assert!(take_units(limiter, 2, fast(10), 5).await.is_admitted);
}

/// A request for more units than the burst is not rejected for ever.
pub async fn more_units_than_the_burst_count_as_the_burst(limiter: &Arc<dyn RateLimiter>) {
    let taken = take_units(limiter, 1, slow(5), 1_000).await;
    assert!(taken.is_admitted);
    assert_eq!(taken.remaining, 0);
    assert!(!take(limiter, 1, slow(5)).await.is_admitted);
}

/// Units of one principal do not count for another.
pub async fn quotas_are_separate_for_each_principal(limiter: &Arc<dyn RateLimiter>) {
    for number in 1..=3 {
        let (given, _) = exhaust(limiter, number, slow(2)).await;
        assert_eq!(given, 2, "to principal {number}");
    }
    let rejected = take(limiter, 1, slow(2)).await;
    assert!(!rejected.is_admitted);
}

/// Principals with the same id in two tenants do not share quotas.
pub async fn quotas_are_separate_for_each_tenant(limiter: &Arc<dyn RateLimiter>) {
    for tenant in ["one", "other"] {
        for is_admitted in [true, false] {
            let holder = holder_in(tenant, 1);
            let taken = limiter
                .take(&holder, RatePolicy::Requests, slow(1), NonZeroU32::MIN)
                .await;
            let taken = taken.expect("the limiter is available");
            assert_eq!(taken.is_admitted, is_admitted, "{tenant}");
        }
    }
}

/// Units of one policy do not count for another, also with equal quotas.
pub async fn quotas_are_separate_for_each_policy(limiter: &Arc<dyn RateLimiter>) {
    for policy in [RatePolicy::Requests, RatePolicy::Chat] {
        for left in [1, 0] {
            let taken = limiter
                .take(&holder(1), policy, slow(2), NonZeroU32::MIN)
                .await;
            let taken = taken.expect("the limiter is available");
            assert!(taken.is_admitted, "{policy:?}");
            assert_eq!(taken.remaining, left);
        }
    }
    for policy in [RatePolicy::Requests, RatePolicy::Chat] {
        let rejected = limiter
            .take(&holder(1), policy, slow(2), NonZeroU32::MIN)
            .await;
        assert!(!rejected.expect("the limiter is available").is_admitted);
    }
}

/// A principal that has used up a small burst and gets a larger one can continue, within the larger
/// one.
pub async fn a_larger_burst_takes_effect_at_once(limiter: &Arc<dyn RateLimiter>) {
    exhaust(limiter, 1, slow(1)).await;
    let (given, _) = exhaust(limiter, 1, slow(50)).await;
    assert!((1..=50).contains(&given), "{given} were given");
}

/// Units saved up under a larger burst are not granted under a smaller one.
pub async fn a_smaller_burst_takes_effect_at_once(limiter: &Arc<dyn RateLimiter>) {
    assert_eq!(take(limiter, 1, slow(50)).await.remaining, 49);
    let (given, _) = exhaust(limiter, 1, slow(2)).await;
    assert!(given <= 2, "{given} were given");
}

/// A principal that waits for a slow quota and gets a faster one waits by the faster one.
pub async fn a_faster_quota_takes_effect_at_once(limiter: &Arc<dyn RateLimiter>) {
    exhaust(limiter, 1, slow(1)).await;
    let (_, rejected) = exhaust(limiter, 1, fast(1)).await;
    assert!(rejected.more_in <= INTERVAL, "{rejected:?}");
    sleep(rejected.more_in).await;
    assert!(take(limiter, 1, fast(1)).await.is_admitted);
}

/// Memory is bounded by recent activity, and active principals are never forgotten.
pub async fn active_principals_are_kept_among_many_others(limiter: &Arc<dyn RateLimiter>) {
    exhaust(limiter, 0, slow(1)).await;
    for number in 1..=5_000 {
        assert!(take(limiter, number, slow(1)).await.is_admitted);
    }
    for number in [0, 1, 2_500, 5_000] {
        let rejected = take(limiter, number, slow(1)).await;
        assert!(!rejected.is_admitted, "principal {number} was forgotten");
    }
}
