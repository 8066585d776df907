//! `RateLimiter`: what every limiter promises to those whom it counts.
//!
//! Time is real here: a limiter keeps its own. Where nothing may come back, the quota is one unit
//! a minute; where something must, one each ten milliseconds, and whoever waits does so for as
//! long as the limiter said.

use std::{
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{PrincipalId, Quota, QuotaHolder, RatePolicy, TenantId};
use ports::{RateLimiter, Taken};
use tokio::{task::JoinSet, time::sleep};

/// Expands to one test per promise of a rate limiter. `$fixture` is the path (from the crate's
/// root) of an async function whose answer is, or derefs to, an `Arc<dyn ports::RateLimiter>` that
/// has counted nothing yet.
#[macro_export]
macro_rules! rate_limiter_contract {
    ($fixture:path) => {
        $crate::rate_limiter_contract! {
            $fixture;
            rate_limiter {
                gives_the_burst_at_once,
                gives_units_back_evenly,
                gives_the_burst_and_no_more_after_a_rest,
                a_refusal_takes_nothing,
                asking_in_vain_delays_nothing,
                tells_truly_when_one_more_can_be_taken,
                gives_several_units_or_none,
                more_units_than_the_burst_count_as_the_burst,
                counts_principals_apart,
                counts_tenants_apart,
                counts_policies_apart,
                a_greater_burst_takes_effect_at_once,
                a_smaller_burst_takes_effect_at_once,
                a_faster_quota_takes_effect_at_once,
                counts_exactly_what_many_take_at_once,
                forgets_nobody_active_among_many_others,
            }
            stream_slots {
                opens_as_many_streams_as_may_be,
                opens_no_stream_where_none_may_be,
                a_dropped_slot_frees_its_place,
                frees_the_places_of_a_task_that_ended,
                a_refused_stream_holds_no_place,
                counts_streams_of_principals_apart,
                counts_streams_of_tenants_apart,
                a_changed_number_of_streams_takes_effect_at_once,
                opens_exactly_as_many_streams_as_may_be_at_once,
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

/// In which time one unit of a [`fast`] quota comes back.
const INTERVAL: Duration = Duration::from_millis(10);

/// How far the clock of a limiter may be from the clock of these tests.
const CLOCK_DIFFERENCE: Duration = Duration::from_millis(1);

/// More than any quota here gives: a limiter that never refuses must fail, not hang.
const TOO_MANY: u32 = 1_000;

/// Nothing of it comes back while a test runs.
fn slow(burst: u32) -> Quota {
    Quota::new(1, burst)
}

/// One unit comes back each [`INTERVAL`].
fn fast(burst: u32) -> Quota {
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

async fn take(limiter: &Arc<dyn RateLimiter>, number: u32, quota: Quota) -> Taken {
    take_units(limiter, number, quota, 1).await
}

async fn take_units(
    limiter: &Arc<dyn RateLimiter>,
    number: u32,
    quota: Quota,
    units: u32,
) -> Taken {
    let units = NonZeroU32::new(units).expect("some units");
    let (holder, policy) = (holder(number), RatePolicy::Requests);
    let taken = limiter.take(&holder, policy, quota, units).await;
    taken.expect("the limiter is there")
}

/// Takes until nothing is left: how many were given, and the refusal.
async fn exhaust(limiter: &Arc<dyn RateLimiter>, number: u32, quota: Quota) -> (u32, Taken) {
    for admitted in 0..TOO_MANY {
        let taken = take(limiter, number, quota).await;
        if !taken.is_admitted {
            assert_eq!(taken.remaining, 0, "what was refused was there");
            return (admitted, taken);
        }
    }
    panic!("the limiter refuses nothing");
}

/// MUST give `burst` units at once to a principal that rested.
pub async fn gives_the_burst_at_once(limiter: &Arc<dyn RateLimiter>) {
    for (number, burst) in [(1, 1), (2, 2), (3, 100)] {
        let minute = Duration::from_mins(1);
        for left in (0..burst).rev() {
            let taken = take(limiter, number, slow(burst)).await;
            assert!(taken.is_admitted, "with {left} of {burst} left");
            assert_eq!(taken.remaining, left);
            assert!(taken.more_in > Duration::ZERO && taken.more_in <= minute);
        }
        let refused = take(limiter, number, slow(burst)).await;
        assert!(!refused.is_admitted, "more than {burst}");
        assert_eq!(refused.remaining, 0);
        assert!(refused.more_in > Duration::ZERO && refused.more_in <= minute);
    }
}

/// MUST give `per_minute` units in every minute after the burst, evenly: one each interval, no
/// later and no more.
pub async fn gives_units_back_evenly(limiter: &Arc<dyn RateLimiter>) {
    let (burst, start) = (5, Instant::now());
    let mut admitted = 0;
    while admitted < burst + 30 {
        let (given, refused) = exhaust(limiter, 1, fast(burst)).await;
        admitted += given;
        assert!(refused.more_in <= INTERVAL, "{refused:?}");
        let came_back = (start.elapsed() + CLOCK_DIFFERENCE).as_nanos() / INTERVAL.as_nanos();
        assert!(u128::from(admitted) <= u128::from(burst) + came_back);
        sleep(refused.more_in).await;
        let taken = take(limiter, 1, fast(burst)).await;
        assert!(taken.is_admitted, "after {:?}: {taken:?}", refused.more_in);
        admitted += 1;
    }
}

/// However long a principal rested, the burst is all that it saved up.
pub async fn gives_the_burst_and_no_more_after_a_rest(limiter: &Arc<dyn RateLimiter>) {
    let burst = 3;
    let (given, refused) = exhaust(limiter, 1, fast(burst)).await;
    assert!(given >= burst);
    sleep(refused.more_in + 5 * burst * INTERVAL).await;
    let taken = take(limiter, 1, fast(burst)).await;
    assert!(taken.is_admitted);
    assert_eq!(taken.remaining, burst - 1);
}

/// MUST take nothing when it refuses: nobody waits the longer for having asked.
pub async fn a_refusal_takes_nothing(limiter: &Arc<dyn RateLimiter>) {
    let (given, mut last) = exhaust(limiter, 1, slow(3)).await;
    assert_eq!(given, 3);
    for _ in 0..100 {
        let refused = take(limiter, 1, slow(3)).await;
        assert!(!refused.is_admitted);
        assert!(
            refused.more_in <= last.more_in,
            "{refused:?} after {last:?}"
        );
        last = refused;
    }
}

/// Whoever asks all the time is given a unit when the first refusal said, and no later.
pub async fn asking_in_vain_delays_nothing(limiter: &Arc<dyn RateLimiter>) {
    let (_, refused) = exhaust(limiter, 1, fast(1)).await;
    let promised = Instant::now() + refused.more_in + CLOCK_DIFFERENCE;
    loop {
        let asked = Instant::now();
        if take(limiter, 1, fast(1)).await.is_admitted {
            return;
        }
        assert!(asked < promised, "refused {:?} late", asked - promised);
        tokio::task::yield_now().await;
    }
}

/// After `more_in`, one more than `remaining` can be taken, whether the unit was given or not.
pub async fn tells_truly_when_one_more_can_be_taken(limiter: &Arc<dyn RateLimiter>) {
    let burst = 8;
    for (number, at_once) in (1..).zip([1, 2, 5, 8, 9, 20]) {
        let mut last = take(limiter, number, fast(burst)).await;
        for _ in 1..at_once {
            last = take(limiter, number, fast(burst)).await;
        }
        assert!(last.more_in <= INTERVAL, "{last:?}");
        sleep(last.more_in).await;
        // One more was there, and now it is taken.
        let next = take(limiter, number, fast(burst)).await;
        assert!(next.is_admitted, "{next:?} after {last:?}");
        assert!(next.remaining >= last.remaining, "{next:?} after {last:?}");
    }
}

/// Several units are taken all at once or not at all, and come back evenly.
pub async fn gives_several_units_or_none(limiter: &Arc<dyn RateLimiter>) {
    let taken = take_units(limiter, 1, slow(10), 7).await;
    assert!(taken.is_admitted);
    assert_eq!(taken.remaining, 3);
    assert!(!take_units(limiter, 1, slow(10), 4).await.is_admitted);
    assert!(take_units(limiter, 1, slow(10), 3).await.is_admitted);

    assert!(take_units(limiter, 2, fast(10), 10).await.is_admitted);
    let refused = take_units(limiter, 2, fast(10), 5).await;
    assert!(!refused.is_admitted);
    assert!(refused.more_in <= 5 * INTERVAL, "{refused:?}");
    sleep(refused.more_in).await;
    assert!(take_units(limiter, 2, fast(10), 5).await.is_admitted);
}

/// A request larger than the burst is not refused for ever.
pub async fn more_units_than_the_burst_count_as_the_burst(limiter: &Arc<dyn RateLimiter>) {
    let taken = take_units(limiter, 1, slow(5), 1_000).await;
    assert!(taken.is_admitted);
    assert_eq!(taken.remaining, 0);
    assert!(!take(limiter, 1, slow(5)).await.is_admitted);
}

/// What one principal takes, no other lacks.
pub async fn counts_principals_apart(limiter: &Arc<dyn RateLimiter>) {
    for number in 1..=3 {
        let (given, _) = exhaust(limiter, number, slow(2)).await;
        assert_eq!(given, 2, "to principal {number}");
    }
    let refused = take(limiter, 1, slow(2)).await;
    assert!(!refused.is_admitted);
}

/// Principals of one name in two tenants do not share.
pub async fn counts_tenants_apart(limiter: &Arc<dyn RateLimiter>) {
    for tenant in ["one", "other"] {
        for is_admitted in [true, false] {
            let holder = holder_in(tenant, 1);
            let taken = limiter
                .take(&holder, RatePolicy::Requests, slow(1), NonZeroU32::MIN)
                .await;
            let taken = taken.expect("the limiter is there");
            assert_eq!(taken.is_admitted, is_admitted, "{tenant}");
        }
    }
}

/// What is taken under one policy is there under the other, also of equal quotas.
pub async fn counts_policies_apart(limiter: &Arc<dyn RateLimiter>) {
    for policy in [RatePolicy::Requests, RatePolicy::Chat] {
        for left in [1, 0] {
            let taken = limiter
                .take(&holder(1), policy, slow(2), NonZeroU32::MIN)
                .await;
            let taken = taken.expect("the limiter is there");
            assert!(taken.is_admitted, "{policy:?}");
            assert_eq!(taken.remaining, left);
        }
    }
    for policy in [RatePolicy::Requests, RatePolicy::Chat] {
        let refused = limiter
            .take(&holder(1), policy, slow(2), NonZeroU32::MIN)
            .await;
        assert!(!refused.expect("the limiter is there").is_admitted);
    }
}

/// Who has used up a small burst and is granted a greater one may go on; it is not given more than
/// the greater one.
pub async fn a_greater_burst_takes_effect_at_once(limiter: &Arc<dyn RateLimiter>) {
    exhaust(limiter, 1, slow(1)).await;
    let (given, _) = exhaust(limiter, 1, slow(50)).await;
    assert!((1..=50).contains(&given), "{given} were given");
}

/// What was saved up under a greater burst is not given under a smaller one.
pub async fn a_smaller_burst_takes_effect_at_once(limiter: &Arc<dyn RateLimiter>) {
    assert_eq!(take(limiter, 1, slow(50)).await.remaining, 49);
    let (given, _) = exhaust(limiter, 1, slow(2)).await;
    assert!(given <= 2, "{given} were given");
}

/// Who waits for a slow quota and is granted a faster one waits by the faster one.
pub async fn a_faster_quota_takes_effect_at_once(limiter: &Arc<dyn RateLimiter>) {
    exhaust(limiter, 1, slow(1)).await;
    let (_, refused) = exhaust(limiter, 1, fast(1)).await;
    assert!(refused.more_in <= INTERVAL, "{refused:?}");
    sleep(refused.more_in).await;
    assert!(take(limiter, 1, fast(1)).await.is_admitted);
}

/// Of all that many ask for at the same time, just the burst is given.
pub async fn counts_exactly_what_many_take_at_once(limiter: &Arc<dyn RateLimiter>) {
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

/// Memory is bounded by what was active lately, and not at the price of forgetting who was.
pub async fn forgets_nobody_active_among_many_others(limiter: &Arc<dyn RateLimiter>) {
    exhaust(limiter, 0, slow(1)).await;
    for number in 1..=5_000 {
        assert!(take(limiter, number, slow(1)).await.is_admitted);
    }
    for number in [0, 1, 2_500, 5_000] {
        let refused = take(limiter, number, slow(1)).await;
        assert!(!refused.is_admitted, "principal {number} was forgotten");
    }
}
