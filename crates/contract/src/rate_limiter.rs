//! `RateLimiter`: the contract of every limiter.
//!
//! These tests use real time, because a limiter has its own clock. If no unit may be refilled, the
//! quota is one unit per minute. Otherwise it is one unit per ten milliseconds, and a test waits as
//! long as the limiter requests.

use std::{
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{PrincipalId, Quota, QuotaHolder, RatePolicy, TenantId};
use ports::{QuotaDecision, RateLimiter};
use tokio::{task::JoinSet, time::sleep};

/// Expands to one test per promise of a rate limiter. `$fixture` is the path (from the crate's
/// root) of an async function whose result is, or derefs to, an unused `Arc<dyn
/// ports::RateLimiter>`.
#[macro_export]
macro_rules! rate_limiter_contract {
    ($fixture:path) => {
        $crate::rate_limiter_contract! {
            $fixture;
            rate_limiter {
                the_burst_is_granted_at_once,
                units_are_refilled_evenly,
                an_idle_principal_saves_up_at_most_the_burst,
                a_rejection_takes_nothing,
                rejected_requests_do_not_extend_the_wait,
                more_in_is_the_time_until_one_more_unit_can_be_taken,
                concurrent_requests_are_granted_exactly_the_burst,
            }
            rate_limiter_quotas {
                several_units_are_granted_together_or_not_at_all,
                more_units_than_the_burst_count_as_the_burst,
                quotas_are_separate_for_each_principal,
                quotas_are_separate_for_each_tenant,
                quotas_are_separate_for_each_policy,
                a_larger_burst_takes_effect_at_once,
                a_smaller_burst_takes_effect_at_once,
                a_faster_quota_takes_effect_at_once,
                active_principals_are_kept_among_many_others,
            }
            stream_slots {
                streams_can_be_opened_up_to_the_maximum,
                no_stream_can_be_opened_if_the_maximum_is_zero,
                a_dropped_slot_is_released,
                slots_of_an_ended_task_are_released,
                a_rejected_stream_occupies_no_slot,
                slots_are_separate_for_each_principal,
                slots_are_separate_for_each_tenant,
                a_changed_maximum_of_streams_takes_effect_at_once,
                concurrent_calls_open_exactly_the_maximum_of_streams,
            }
        }
    };
    ($fixture:path; $($module:ident { $($promise:ident,)* })*) => {
        $(mod $module {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $promise() {
                    let fixture = $fixture().await;
                    $crate::$module::$promise(&fixture).await;
                }
            )*
        })*
    };
}

/// The time in which one unit of a [`fast`] quota is refilled.
pub(crate) const INTERVAL: Duration = Duration::from_millis(10);

/// The maximum difference between the clock of a limiter and the clock of these tests.
const CLOCK_DIFFERENCE: Duration = Duration::from_millis(1);

/// More units than any quota here grants, so that a limiter that never rejects fails instead of
/// hanging.
const TOO_MANY: u32 = 1_000;

/// A quota of which nothing is refilled during a test.
pub(crate) fn slow(burst: u32) -> Quota {
    Quota::new(1, burst)
}

/// A quota of which one unit is refilled per [`INTERVAL`].
pub(crate) fn fast(burst: u32) -> Quota {
    Quota::new(6_000, burst)
}

/// A numbered principal of a tenant.
pub(crate) fn holder_in(tenant: &str, number: u32) -> QuotaHolder {
    let tenant: TenantId = tenant.parse().expect("the id of a tenant");
    let principal = PrincipalId::new(format!("key:Sample{number:06}"));
    QuotaHolder { tenant, principal }
}

/// A numbered principal.
pub(crate) fn holder(number: u32) -> QuotaHolder {
    holder_in(TenantId::DEFAULT, number)
}

pub(crate) async fn take(
    limiter: &Arc<dyn RateLimiter>,
    number: u32,
    quota: Quota,
) -> QuotaDecision {
    take_units(limiter, number, quota, 1).await
}

pub(crate) async fn take_units(
    limiter: &Arc<dyn RateLimiter>,
    number: u32,
    quota: Quota,
    units: u32,
) -> QuotaDecision {
    let units = NonZeroU32::new(units).expect("some units");
    let (holder, policy) = (holder(number), RatePolicy::Requests);
    let taken = limiter.take(&holder, policy, quota, units).await;
    taken.expect("the limiter is available")
}

/// Takes units until one is rejected. Returns the number of granted units and the rejection.
pub(crate) async fn exhaust(
    limiter: &Arc<dyn RateLimiter>,
    number: u32,
    quota: Quota,
) -> (u32, QuotaDecision) {
    for admitted in 0..TOO_MANY {
        let taken = take(limiter, number, quota).await;
        if !taken.is_admitted {
            assert_eq!(taken.remaining, 0, "the rejected unit was available");
            return (admitted, taken);
        }
    }
    panic!("the limiter rejects nothing");
}

/// `burst` units MUST be granted at once to a principal that was idle.
pub async fn the_burst_is_granted_at_once(limiter: &Arc<dyn RateLimiter>) {
    for (number, burst) in [(1, 1), (2, 2), (3, 100)] {
        let minute = Duration::from_mins(1);
        for left in (0..burst).rev() {
            let taken = take(limiter, number, slow(burst)).await;
            assert!(taken.is_admitted, "with {left} of {burst} left");
            assert_eq!(taken.remaining, left);
            assert!(taken.more_in > Duration::ZERO && taken.more_in <= minute);
        }
        let rejected = take(limiter, number, slow(burst)).await;
        assert!(!rejected.is_admitted, "more than {burst}");
        assert_eq!(rejected.remaining, 0);
        assert!(rejected.more_in > Duration::ZERO && rejected.more_in <= minute);
    }
}

/// `per_minute` units MUST be granted per minute after the burst, evenly: one per interval, no
/// later and no more.
pub async fn units_are_refilled_evenly(limiter: &Arc<dyn RateLimiter>) {
    let (burst, start) = (5, Instant::now());
    let mut admitted = 0;
    while admitted < burst + 30 {
        let (given, rejected) = exhaust(limiter, 1, fast(burst)).await;
        admitted += given;
        assert!(rejected.more_in <= INTERVAL, "{rejected:?}");
        let came_back = (start.elapsed() + CLOCK_DIFFERENCE).as_nanos() / INTERVAL.as_nanos();
        assert!(u128::from(admitted) <= u128::from(burst) + came_back);
        sleep(rejected.more_in).await;
        let taken = take(limiter, 1, fast(burst)).await;
        assert!(taken.is_admitted, "after {:?}: {taken:?}", rejected.more_in);
        admitted += 1;
    }
}

/// An idle principal saves up at most the burst, however long it is idle.
pub async fn an_idle_principal_saves_up_at_most_the_burst(limiter: &Arc<dyn RateLimiter>) {
    let burst = 3;
    let (given, rejected) = exhaust(limiter, 1, fast(burst)).await;
    assert!(given >= burst);
    sleep(rejected.more_in + 5 * burst * INTERVAL).await;
    let taken = take(limiter, 1, fast(burst)).await;
    assert!(taken.is_admitted);
    assert_eq!(taken.remaining, burst - 1);
}

/// A rejection MUST take nothing: further requests do not extend the wait.
pub async fn a_rejection_takes_nothing(limiter: &Arc<dyn RateLimiter>) {
    let (given, mut last) = exhaust(limiter, 1, slow(3)).await;
    assert_eq!(given, 3);
    for _ in 0..100 {
        let rejected = take(limiter, 1, slow(3)).await;
        assert!(!rejected.is_admitted);
        assert!(
            rejected.more_in <= last.more_in,
            "{rejected:?} after {last:?}"
        );
        last = rejected;
    }
}

/// A principal that keeps sending requests is granted a unit at the time that the first rejection
/// announced.
pub async fn rejected_requests_do_not_extend_the_wait(limiter: &Arc<dyn RateLimiter>) {
    let (_, rejected) = exhaust(limiter, 1, fast(1)).await;
    let promised = Instant::now() + rejected.more_in + CLOCK_DIFFERENCE;
    loop {
        let sent_at = Instant::now();
        if take(limiter, 1, fast(1)).await.is_admitted {
            return;
        }
        assert!(sent_at < promised, "rejected {:?} late", sent_at - promised);
        tokio::task::yield_now().await;
    }
}

/// After `more_in`, one more than `remaining` can be taken, after a grant and after a rejection.
pub async fn more_in_is_the_time_until_one_more_unit_can_be_taken(limiter: &Arc<dyn RateLimiter>) {
    let burst = 8;
    for (number, at_once) in (1..).zip([1, 2, 5, 8, 9, 20]) {
        let mut last = take(limiter, number, fast(burst)).await;
        for _ in 1..at_once {
            last = take(limiter, number, fast(burst)).await;
        }
        assert!(last.more_in <= INTERVAL, "{last:?}");
        sleep(last.more_in).await;
        // One more unit was available and is taken now.
        let next = take(limiter, number, fast(burst)).await;
        assert!(next.is_admitted, "{next:?} after {last:?}");
        assert!(next.remaining >= last.remaining, "{next:?} after {last:?}");
    }
}

/// Concurrent requests are granted exactly the burst.
pub async fn concurrent_requests_are_granted_exactly_the_burst(limiter: &Arc<dyn RateLimiter>) {
    let mut takers = JoinSet::new();
    for _ in 0..16 {
        let limiter = Arc::clone(limiter);
        takers.spawn(async move {
            let mut given = 0;
            for _ in 0..50 {
                given += u32::from(take(&limiter, 1, slow(100)).await.is_admitted);
                tokio::task::yield_now().await;
            }
            given
        });
    }
    let given: u32 = takers.join_all().await.into_iter().sum();
    assert_eq!(given, 100);
}
