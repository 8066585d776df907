//! Tests of policies, quotas and the removal of idle ones.

use std::time::Duration;

use governor::clock::FakeRelativeClock;

use super::*;
use crate::limiter::fixture::holder;

fn ada() -> QuotaHolder {
    holder("ada")
}

#[test]
fn policies_with_the_same_quota_are_counted_separately() {
    let rates = Rates::<FakeRelativeClock>::default();
    let quota = Quota::new(60, 1);
    assert!(
        rates
            .take(&ada(), RatePolicy::Requests, quota, NonZeroU32::MIN)
            .is_admitted
    );
    assert!(
        rates
            .take(&ada(), RatePolicy::Chat, quota, NonZeroU32::MIN)
            .is_admitted
    );
    assert!(
        !rates
            .take(&ada(), RatePolicy::Requests, quota, NonZeroU32::MIN)
            .is_admitted
    );
    assert!(
        !rates
            .take(&ada(), RatePolicy::Chat, quota, NonZeroU32::MIN)
            .is_admitted
    );
}

#[test]
fn a_changed_quota_applies_at_once() {
    let rates = Rates::<FakeRelativeClock>::default();
    let take = |quota| rates.take(&ada(), RatePolicy::Chat, quota, NonZeroU32::MIN);
    assert!(take(Quota::new(60, 1)).is_admitted);
    assert!(!take(Quota::new(60, 1)).is_admitted);
    let more = take(Quota::new(600, 3));
    assert_eq!((more.is_admitted, more.remaining), (true, 2));
    assert_eq!(more.more_in, Duration::from_millis(100));
    let less = take(Quota::new(30, 1));
    assert_eq!((less.is_admitted, less.remaining), (true, 0));
    assert_eq!(less.more_in, Duration::from_secs(2));
}

#[test]
fn a_sweep_removes_unused_quotas() {
    let rates = Rates::<FakeRelativeClock>::default();
    for burst in 1..=10_000 {
        let quota = Quota::new(600, burst);
        assert!(
            rates
                .take(&ada(), RatePolicy::Chat, quota, NonZeroU32::MIN)
                .is_admitted
        );
    }
    let used = Quota::new(600, 5);
    rates.clock.advance(Duration::from_secs(1));
    assert!(
        rates
            .take(&ada(), RatePolicy::Chat, used, NonZeroU32::MIN)
            .is_admitted
    );
    assert_eq!(rates.len(), 10_000);
    rates.sweep();
    assert_eq!(rates.len(), 1);
    assert!(rates.limiters.read().capacity() < 10);
    let next = rates.take(&ada(), RatePolicy::Chat, used, NonZeroU32::MIN);
    assert_eq!(next.remaining, 3, "usage is kept");
}

#[test]
fn a_concurrent_sweep_loses_no_usage() {
    let rates = Rates::<FakeRelativeClock>::default();
    let take = || rates.take(&ada(), RatePolicy::Chat, Quota::new(60, 1), NonZeroU32::MIN);
    std::thread::scope(|scope| {
        let taker = scope.spawn(|| {
            for round in 0..20_000 {
                // The sweep may drop the limiter while it is used again.
                assert!(take().is_admitted, "round {round}");
                assert!(!take().is_admitted, "round {round}");
                rates.clock.advance(Duration::from_secs(10));
            }
        });
        while !taker.is_finished() {
            rates.sweep();
        }
    });
}
