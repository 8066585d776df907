use std::time::Duration;

use domain::Quota;

use super::*;
use crate::limiter::units::LOST;

mod several_nodes;

/// 10 units a second, 100 at once, in slices of 10.
const QUOTA: (u32, u32) = (600, 100);
/// The number of live nodes.
const NODES: u32 = 3;

fn bucket() -> Bucket {
    Bucket::new(Rate::new(Quota::new(QUOTA.0, QUOTA.1)), 0)
}

/// A row of the database.
#[derive(Default)]
struct Row {
    full_at: Nanos,
    held: Nanos,
    held_until: Nanos,
}

impl Row {
    fn response(&mut self, rate: Rate, request: RowRequest, now: Nanos) -> RowResponse {
        let full = now + rate.time(rate.burst);
        let valid = if self.held_until > now { self.held } else { 0 };
        let valid = (valid - request.used).max(0);
        let kept = (valid - request.returned).max(0);
        let kept = kept.min(rate.most_held(NODES));
        let missing_until = self.full_at.min(full) - request.returned.min(valid);
        let owed = missing_until.max(now + kept + request.refilled_in) + request.charged;
        let room = u32::try_from(((full - owed) / rate.interval).max(0)).unwrap();
        let granted = if room >= request.least {
            room.min(request.most)
        } else {
            0
        };
        self.full_at = owed + rate.time(granted);
        self.held = kept + rate.time(granted.saturating_sub(request.at_once));
        if granted > 0 {
            self.held_until = now + 2 * SECOND;
        }
        RowResponse {
            granted,
            full_in: self.full_at - now,
        }
    }

    fn exchange(&mut self, bucket: &mut Bucket, now: Nanos) -> RowRequest {
        let request = bucket.next_request(now);
        let response = self.response(bucket.rate(), request, now);
        bucket.apply(request, now, response, now);
        request
    }

    /// Takes single units until one is rejected.
    fn exhaust(&mut self, bucket: &mut Bucket, now: Nanos) -> u32 {
        let mut granted = 0;
        while self.take(bucket, 1, now).is_admitted {
            granted += 1;
        }
        granted
    }

    /// Takes units, with the row if necessary.
    fn take(&mut self, bucket: &mut Bucket, units: u32, now: Nanos) -> QuotaDecision {
        match bucket.take_shared(units, now) {
            TakeStep::Decided {
                decision,
                must_query,
            } => {
                if must_query {
                    self.exchange(bucket, now);
                }
                decision
            }
            TakeStep::Waiting { mut decision, .. } => {
                self.exchange(bucket, now);
                decision.try_recv().unwrap()
            }
        }
    }
}

#[test]
fn a_slice_is_taken_with_the_first_unit_and_granted_without_the_row() {
    let (mut bucket, mut row) = (bucket(), Row::default());
    assert_eq!(row.take(&mut bucket, 1, 0).remaining, 99);
    assert_eq!(row.full_at, SECOND, "ten units");
    for remaining in (94..99).rev() {
        match bucket.take_shared(1, 0) {
            TakeStep::Decided {
                decision,
                must_query,
            } => {
                assert_eq!(decision.remaining, remaining);
                // Less than half a slice is left.
                assert_eq!(must_query, remaining == 94);
            }
            TakeStep::Waiting { .. } => panic!("the slice is used up"),
        }
    }
    let request = bucket.next_request(0);
    assert_eq!((request.least, request.most), (1, 6), "up to a slice");
}

#[test]
fn the_units_of_an_idle_principal_add_nothing_to_its_burst() {
    let (mut bucket, mut row) = (bucket(), Row::default());
    row.take(&mut bucket, 1, 0);
    assert_eq!(row.take(&mut bucket, 1, SECOND).remaining, 99);
    assert!(bucket.queue_if_unused(SECOND));
    row.exchange(&mut bucket, SECOND);
    // The row is as if they had not been taken.
    assert_eq!((bucket.units.held(), row.held), (0, 0));
    assert_eq!(row.full_at, SECOND + bucket.rate().time(1));
}

#[test]
fn units_that_the_row_may_reserve_no_longer_are_neither_granted_nor_returned() {
    let (mut bucket, mut row) = (bucket(), Row::default());
    row.take(&mut bucket, 1, 0);
    assert!(bucket.take_locally(1, LOST).is_admitted);
    let request = bucket.next_request(LOST);
    assert_eq!((request.returned, request.used), (0, 0));
    assert_eq!(request.charged, bucket.rate().time(1));
    assert!(!bucket.is_idle(LOST));
}

#[test]
fn a_clock_that_was_set_back_costs_at_most_a_burst() {
    let (mut bucket, mut row) = (bucket(), Row::default());
    row.full_at = 3_600 * SECOND;
    let rejected = row.take(&mut bucket, 1, 0);
    assert_eq!(rejected.more_in, Duration::from_millis(100));
}

#[test]
fn the_units_of_a_busy_principal_are_returned_after_a_second() {
    let (mut bucket, mut row) = (bucket(), Row::default());
    // Others have used half of the burst.
    row.full_at = 5 * SECOND;
    row.take(&mut bucket, 1, 0);
    assert!(!bucket.queue_if_unused(SECOND - 1));
    assert!(bucket.queue_if_unused(SECOND));
    let request = row.exchange(&mut bucket, SECOND);
    assert_eq!(request.returned, bucket.rate().time(9));
    assert_eq!(row.full_at, 5 * SECOND + SECOND / 10);
    assert!(!bucket.keeps_units());
}

#[test]
fn no_more_than_the_burst_is_granted_while_units_are_held() {
    let (mut bucket, mut row) = (bucket(), Row::default());
    row.take(&mut bucket, 1, 0);
    let (mut granted, later) = (0, SECOND * 9 / 10);
    while row.take(&mut bucket, 1, later).is_admitted {
        granted += 1;
    }
    assert_eq!(granted, 100);
}

#[test]
fn units_granted_without_the_row_are_charged_once() {
    let (mut bucket, mut row) = (bucket(), Row::default());
    for _ in 0..30 {
        assert!(bucket.take_locally(1, 0).is_admitted);
    }
    assert!(bucket.queue_if_unpaid(0));
    assert!(!bucket.queue_if_unpaid(0), "it is queued");
    row.exchange(&mut bucket, 0);
    assert_eq!(row.full_at, 3 * SECOND);
    assert!(!bucket.queue_if_unpaid(0));
    assert_eq!(row.take(&mut bucket, 1, 0).remaining, 69);
}

#[test]
fn units_refilled_meanwhile_are_not_charged() {
    let mut bucket = bucket();
    for _ in 0..30 {
        bucket.take_locally(1, 0);
    }
    assert_eq!(bucket.next_request(2 * SECOND).charged, SECOND);
    assert!(!bucket.queue_if_unpaid(3 * SECOND));
}

#[test]
fn a_rejection_is_repeated_without_the_row_for_a_short_time() {
    let (mut bucket, mut row) = (bucket(), Row::default());
    row.full_at = 10 * SECOND;
    let rejected = row.take(&mut bucket, 1, 0);
    assert!(!rejected.is_admitted);
    assert_eq!(rejected.more_in, Duration::from_millis(100));
    let again = bucket.take_shared(1, KNOWN_FOR / 2);
    assert!(matches!(again, TakeStep::Decided { decision, .. } if !decision.is_admitted));
    let later = bucket.take_shared(1, KNOWN_FOR);
    assert!(matches!(
        later,
        TakeStep::Waiting {
            must_query: true,
            ..
        }
    ));
}

#[test]
fn requests_that_wait_together_are_granted_in_order() {
    let (mut bucket, mut row) = (bucket(), Row::default());
    row.full_at = 10 * SECOND - bucket.rate().time(3);
    let mut waiting = Vec::new();
    for (units, is_first) in [(2, true), (2, false), (1, false)] {
        let TakeStep::Waiting {
            decision,
            must_query,
        } = bucket.take_shared(units, 0)
        else {
            panic!("the row decides");
        };
        assert_eq!(must_query, is_first);
        waiting.push(decision);
    }
    row.exchange(&mut bucket, 0);
    let admitted = waiting
        .iter_mut()
        .map(|it| it.try_recv().unwrap().is_admitted);
    assert_eq!(admitted.collect::<Vec<_>>(), [true, false, true]);
}

#[test]
fn more_units_than_a_slice_are_taken_together() {
    let (mut bucket, mut row) = (bucket(), Row::default());
    let taken = row.take(&mut bucket, 100, 0);
    assert!(taken.is_admitted);
    assert_eq!((taken.remaining, bucket.units.held()), (0, 0));
    let rejected = row.take(&mut bucket, 30, 0);
    assert_eq!(rejected.more_in, Duration::from_secs(3));
}

#[test]
fn a_used_bucket_is_idle_once_its_burst_is_refilled() {
    let mut bucket = bucket();
    bucket.take_locally(10, 0);
    assert!(!bucket.is_idle(SECOND - 1));
    assert!(bucket.is_idle(SECOND));
}
