//! What a quota gives, to the nanosecond.

use governor::clock::FakeRelativeClock;

use super::*;
use crate::sample::holder;

/// A limiter on a clock that goes on by hand, and one principal.
struct Given {
    clock: FakeRelativeClock,
    limiter: QuotaLimiter<FakeRelativeClock>,
    ada: QuotaHolder,
}

impl Given {
    fn new(per_minute: u32, burst: u32) -> Self {
        let clock = FakeRelativeClock::default();
        // Not at the beginning of time: what is kept counts from the start of the limiter.
        clock.advance(Duration::from_hours(1));
        Self {
            limiter: QuotaLimiter::new(Quota::new(per_minute, burst), &clock),
            clock,
            ada: holder("ada"),
        }
    }

    fn take(&self) -> Taken {
        self.take_units(1)
    }

    fn take_units(&self, units: u32) -> Taken {
        let units = NonZeroU32::new(units).expect("some units");
        self.limiter.take(&self.ada, units)
    }

    fn wait(&self, milliseconds: u64) {
        self.clock.advance(Duration::from_millis(milliseconds));
    }
}

fn admitted(remaining: u32, more_in: u64) -> Taken {
    Taken {
        is_admitted: true,
        remaining,
        more_in: Duration::from_millis(more_in),
    }
}

fn refused(more_in: u64) -> Taken {
    Taken {
        is_admitted: false,
        remaining: 0,
        more_in: Duration::from_millis(more_in),
    }
}

#[test]
fn gives_the_burst_at_once_and_then_one_in_each_interval() {
    let given = Given::new(600, 3);
    assert_eq!(given.take(), admitted(2, 100));
    assert_eq!(given.take(), admitted(1, 100));
    assert_eq!(given.take(), admitted(0, 100));
    assert_eq!(given.take(), refused(100));
    for _ in 0..10 {
        given.wait(100);
        assert_eq!(given.take(), admitted(0, 100));
        assert_eq!(given.take(), refused(100));
    }
}

#[test]
fn tells_how_long_until_one_more_is_there_in_the_middle_of_an_interval() {
    let given = Given::new(600, 3);
    assert_eq!(given.take(), admitted(2, 100));
    given.wait(30);
    assert_eq!(given.take(), admitted(1, 70));
    given.wait(50);
    assert_eq!(given.take(), admitted(0, 20));
    assert_eq!(given.take(), refused(20));
    given.wait(15);
    assert_eq!(given.take(), refused(5));
    given.wait(5);
    assert_eq!(given.take(), admitted(0, 100));
}

#[test]
fn is_true_to_the_nanosecond_about_when_to_ask_again() {
    let given = Given::new(7, 2);
    given.take();
    given.take();
    assert_eq!(given.take().more_in, Duration::from_nanos(8_571_428_571));
    given.clock.advance(Duration::from_nanos(8_571_428_570));
    assert_eq!(given.take().more_in, Duration::from_nanos(1));
    given.clock.advance(Duration::from_nanos(1));
    assert!(given.take().is_admitted);
}

#[test]
fn gives_the_whole_burst_again_after_a_rest_and_no_more() {
    let given = Given::new(600, 5);
    for _ in 0..5 {
        assert!(given.take().is_admitted);
    }
    given.wait(1_000_000);
    for remaining in (0..5).rev() {
        assert_eq!(given.take(), admitted(remaining, 100));
    }
    assert_eq!(given.take(), refused(100));
}

#[test]
fn a_refusal_costs_nothing() {
    let given = Given::new(60, 1);
    assert_eq!(given.take(), admitted(0, 1_000));
    for _ in 0..1_000 {
        assert_eq!(given.take(), refused(1_000));
    }
    given.wait(1_000);
    assert_eq!(given.take(), admitted(0, 1_000));
}

#[test]
fn principals_do_not_share() {
    let given = Given::new(60, 1);
    assert_eq!(given.take(), admitted(0, 1_000));
    let bob = given.limiter.take(&holder("bob"), NonZeroU32::MIN);
    assert_eq!(bob, admitted(0, 1_000));
}

#[test]
fn holds_for_the_largest_and_the_smallest_numbers() {
    let huge = Given::new(1, u32::MAX);
    let most = 52_560_000; // Minutes in a hundred years.
    assert_eq!(huge.take(), admitted(most - 1, 60_000));
    assert_eq!(huge.take(), admitted(most - 2, 60_000));

    let fast = Given::new(u32::MAX, u32::MAX);
    assert_eq!(fast.take().remaining, u32::MAX - 1);
    assert_eq!(fast.take().remaining, u32::MAX - 2);

    let none = Given::new(0, 0);
    assert_eq!(none.take(), admitted(0, 60_000));
    assert_eq!(none.take(), refused(60_000));
}

#[test]
fn a_sweep_forgets_only_those_that_have_rested() {
    let given = Given::new(600, 3);
    given.take();
    given.take();
    given.limiter.take(&holder("bob"), NonZeroU32::MIN);
    given.wait(250);
    given.limiter.sweep();
    assert_eq!(given.limiter.len(), 1, "ada rested for half an interval");
    assert_eq!(given.take(), admitted(2, 100));
    given.wait(1_000);
    given.limiter.sweep();
    assert_eq!(given.limiter.len(), 0);
    assert_eq!(given.take(), admitted(2, 100));
}

#[test]
fn a_second_crowd_of_principals_takes_no_more_room_than_the_first() {
    const CROWD: usize = 100_000;
    let given = Given::new(600, 100);
    for crowd in 0..2 {
        for number in 0..CROWD {
            let user = holder(&format!("user {crowd} {number}"));
            assert!(given.limiter.take(&user, NonZeroU32::MIN).is_admitted);
        }
        // And ada, who is there from the first crowd on.
        assert_eq!(given.limiter.len(), CROWD + crowd);
        given.wait(1_000);
        given.take();
        given.limiter.sweep();
        assert_eq!(given.limiter.len(), 1, "only ada was here lately");
    }
    let store = given.limiter.buckets.into_state_store();
    assert!(store.capacity() < 100, "room for {}", store.capacity());
}
