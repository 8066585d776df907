use domain::Quota;

use super::*;

/// 10 units a second, 100 at once, in slices of 10.
const QUOTA: (u32, u32) = (600, 100);

fn bucket() -> Bucket {
    Bucket::new(Rate::new(Quota::new(QUOTA.0, QUOTA.1)), 0)
}

/// The row of a bucket, without other nodes.
#[derive(Default)]
struct Row {
    full_at: Nanos,
}

impl Row {
    fn answer(&mut self, rate: Rate, ask: Ask, now: Nanos) -> Answer {
        let owed = (self.full_at - ask.returned).max(now + ask.used) + ask.charged;
        let room = ((now + rate.time(rate.burst) - owed) / rate.interval).max(0);
        let room = u32::try_from(room).unwrap();
        let granted = if room >= ask.least {
            room.min(ask.most)
        } else {
            0
        };
        self.full_at = owed + rate.time(granted);
        Answer {
            granted,
            full_in: self.full_at - now,
        }
    }

    fn exchange(&mut self, bucket: &mut Bucket, now: Nanos) -> Ask {
        let ask = bucket.ask(now);
        let answer = self.answer(bucket.rate(), ask, now);
        bucket.apply(ask, answer, now);
        ask
    }

    /// Takes units, with the row if necessary.
    fn take(&mut self, bucket: &mut Bucket, units: u32, now: Nanos) -> QuotaDecision {
        match bucket.take_shared(units, now) {
            Taken::Decided { decision, refill } => {
                if refill {
                    self.exchange(bucket, now);
                }
                decision
            }
            Taken::Waiting { mut decision, .. } => {
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
            Taken::Decided { decision, refill } => {
                assert_eq!(decision.remaining, remaining);
                // Less than half a slice is left.
                assert_eq!(refill, remaining == 94);
            }
            Taken::Waiting { .. } => panic!("the slice is used up"),
        }
    }
    let ask = bucket.ask(0);
    assert_eq!((ask.least, ask.most), (1, 10));
}

#[test]
fn the_units_of_an_idle_principal_add_nothing_to_its_burst() {
    let (mut bucket, mut row) = (bucket(), Row::default());
    row.take(&mut bucket, 1, 0);
    assert_eq!(row.take(&mut bucket, 1, SECOND).remaining, 99);
    // They were returned, and the row is as if they had not been taken.
    assert_eq!((bucket.held, row.full_at), (9, 2 * SECOND));
}

#[test]
fn units_that_this_node_cannot_grant_return_to_the_others() {
    let (mut bucket, mut row) = (bucket(), Row::default());
    row.take(&mut bucket, 1, 0);
    // Others take the rest.
    row.full_at += 9 * SECOND;
    assert!(bucket.queue_if_stale(SECOND));
    row.exchange(&mut bucket, SECOND);
    assert_eq!(row.full_at, 10 * SECOND - bucket.rate().time(9));
}

#[test]
fn the_units_of_a_busy_principal_are_returned_after_a_second() {
    let (mut bucket, mut row) = (bucket(), Row::default());
    // Others have used half of the burst.
    row.full_at = 5 * SECOND;
    row.take(&mut bucket, 1, 0);
    assert!(!bucket.queue_if_stale(SECOND - 1));
    assert!(bucket.queue_if_stale(SECOND));
    let ask = row.exchange(&mut bucket, SECOND);
    assert_eq!(ask.returned, bucket.rate().time(9));
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
        assert!(bucket.take_alone(1, 0).is_admitted);
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
        bucket.take_alone(1, 0);
    }
    assert_eq!(bucket.ask(2 * SECOND).charged, SECOND);
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
    assert!(matches!(again, Taken::Decided { decision, .. } if !decision.is_admitted));
    let later = bucket.take_shared(1, KNOWN_FOR);
    assert!(matches!(later, Taken::Waiting { ask: true, .. }));
}

#[test]
fn requests_that_wait_together_are_granted_in_order() {
    let (mut bucket, mut row) = (bucket(), Row::default());
    row.full_at = 10 * SECOND - bucket.rate().time(3);
    let mut waiting = Vec::new();
    for (units, is_first) in [(2, true), (2, false), (1, false)] {
        let Taken::Waiting { decision, ask } = bucket.take_shared(units, 0) else {
            panic!("the row decides");
        };
        assert_eq!(ask, is_first);
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
    assert_eq!((taken.remaining, bucket.held), (0, 0));
    let rejected = row.take(&mut bucket, 30, 0);
    assert_eq!(rejected.more_in, Duration::from_secs(3));
}

#[test]
fn a_used_bucket_is_idle_once_its_burst_is_refilled() {
    let mut bucket = bucket();
    bucket.take_alone(10, 0);
    assert!(!bucket.is_idle(SECOND - 1));
    assert!(bucket.is_idle(SECOND));
}
