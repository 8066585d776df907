//! Tests of quotas, to the nanosecond.

use governor::clock::FakeRelativeClock;

use super::*;
use crate::limiter::fixture::holder;

/// A limiter with a manual clock, and one principal.
struct Fixture {
    clock: FakeRelativeClock,
    limiter: QuotaLimiter<FakeRelativeClock>,
    ada: QuotaHolder,
}

impl Fixture {
    fn new(per_minute: u32, burst: u32) -> Self {
        let clock = FakeRelativeClock::default();
        // Not at zero: stored times are relative to the start of the limiter.
        clock.advance(Duration::from_hours(1));
        Self {
            limiter: QuotaLimiter::new(Quota::new(per_minute, burst), &clock),
            clock,
            ada: holder("ada"),
        }
    }

    fn take(&self) -> QuotaDecision {
        self.take_units(1)
    }

    fn take_units(&self, units: u32) -> QuotaDecision {
        let units = NonZeroU32::new(units).expect("some units");
        self.limiter.take(&self.ada, units)
    }

    fn wait(&self, milliseconds: u64) {
        self.clock.advance(Duration::from_millis(milliseconds));
    }
}

fn admitted(remaining: u32, more_in: u64) -> QuotaDecision {
    QuotaDecision {
        is_admitted: true,
        remaining,
        more_in: Duration::from_millis(more_in),
    }
}

fn rejected(more_in: u64) -> QuotaDecision {
    QuotaDecision {
        is_admitted: false,
        remaining: 0,
        more_in: Duration::from_millis(more_in),
    }
}

#[test]
fn the_burst_is_available_at_once_and_then_one_unit_per_interval() {
    let fixture = Fixture::new(600, 3);
    assert_eq!(fixture.take(), admitted(2, 100));
    assert_eq!(fixture.take(), admitted(1, 100));
    assert_eq!(fixture.take(), admitted(0, 100));
    assert_eq!(fixture.take(), rejected(100));
    for _ in 0..10 {
        fixture.wait(100);
        assert_eq!(fixture.take(), admitted(0, 100));
        assert_eq!(fixture.take(), rejected(100));
    }
}

#[test]
fn the_time_until_the_next_unit_is_exact_within_an_interval() {
    let fixture = Fixture::new(600, 3);
    assert_eq!(fixture.take(), admitted(2, 100));
    fixture.wait(30);
    assert_eq!(fixture.take(), admitted(1, 70));
    fixture.wait(50);
    assert_eq!(fixture.take(), admitted(0, 20));
    assert_eq!(fixture.take(), rejected(20));
    fixture.wait(15);
    assert_eq!(fixture.take(), rejected(5));
    fixture.wait(5);
    assert_eq!(fixture.take(), admitted(0, 100));
}

#[test]
fn the_time_until_the_next_unit_is_exact_to_the_nanosecond() {
    let fixture = Fixture::new(7, 2);
    fixture.take();
    fixture.take();
    assert_eq!(fixture.take().more_in, Duration::from_nanos(8_571_428_571));
    fixture.clock.advance(Duration::from_nanos(8_571_428_570));
    assert_eq!(fixture.take().more_in, Duration::from_nanos(1));
    fixture.clock.advance(Duration::from_nanos(1));
    assert!(fixture.take().is_admitted);
}

#[test]
fn the_whole_burst_is_replenished_and_no_more() {
    let fixture = Fixture::new(600, 5);
    for _ in 0..5 {
        assert!(fixture.take().is_admitted);
    }
    fixture.wait(1_000_000);
    for remaining in (0..5).rev() {
        assert_eq!(fixture.take(), admitted(remaining, 100));
    }
    assert_eq!(fixture.take(), rejected(100));
}

#[test]
fn a_rejection_takes_no_units() {
    let fixture = Fixture::new(60, 1);
    assert_eq!(fixture.take(), admitted(0, 1_000));
    for _ in 0..1_000 {
        assert_eq!(fixture.take(), rejected(1_000));
    }
    fixture.wait(1_000);
    assert_eq!(fixture.take(), admitted(0, 1_000));
}

#[test]
fn principals_do_not_share_a_quota() {
    let fixture = Fixture::new(60, 1);
    assert_eq!(fixture.take(), admitted(0, 1_000));
    let bob = fixture.limiter.take(&holder("bob"), NonZeroU32::MIN);
    assert_eq!(bob, admitted(0, 1_000));
}

#[test]
fn extreme_quotas_work() {
    let huge = Fixture::new(1, u32::MAX);
    let most = 52_560_000; // Minutes in a hundred years.
    assert_eq!(huge.take(), admitted(most - 1, 60_000));
    assert_eq!(huge.take(), admitted(most - 2, 60_000));

    let fast = Fixture::new(u32::MAX, u32::MAX);
    assert_eq!(fast.take().remaining, u32::MAX - 1);
    assert_eq!(fast.take().remaining, u32::MAX - 2);

    let none = Fixture::new(0, 0);
    assert_eq!(none.take(), admitted(0, 60_000));
    assert_eq!(none.take(), rejected(60_000));
}

#[test]
fn a_sweep_removes_only_idle_principals() {
    let fixture = Fixture::new(600, 3);
    fixture.take();
    fixture.take();
    fixture.limiter.take(&holder("bob"), NonZeroU32::MIN);
    fixture.wait(250);
    fixture.limiter.sweep();
    assert_eq!(
        fixture.limiter.len(),
        1,
        "ada still has half an interval to wait"
    );
    assert_eq!(fixture.take(), admitted(2, 100));
    fixture.wait(1_000);
    fixture.limiter.sweep();
    assert_eq!(fixture.limiter.len(), 0);
    assert_eq!(fixture.take(), admitted(2, 100));
}

#[test]
fn memory_of_removed_principals_is_reused() {
    const CROWD: usize = 100_000;
    let fixture = Fixture::new(600, 100);
    for crowd in 0..2 {
        for number in 0..CROWD {
            let user = holder(&format!("user {crowd} {number}"));
            assert!(fixture.limiter.take(&user, NonZeroU32::MIN).is_admitted);
        }
        // One more for ada, from the first crowd on.
        assert_eq!(fixture.limiter.len(), CROWD + crowd);
        fixture.wait(1_000);
        fixture.take();
        fixture.limiter.sweep();
        assert_eq!(fixture.limiter.len(), 1, "only ada has recent usage");
    }
    let store = fixture.limiter.buckets.into_state_store();
    assert!(store.capacity() < 100, "room for {}", store.capacity());
}
