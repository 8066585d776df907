//! Buckets of several nodes with one row.

use super::*;

#[test]
fn units_returned_after_their_refill_are_not_granted_twice() {
    let (mut one, mut other, mut third, mut row) = (bucket(), bucket(), bucket(), Row::default());
    assert!(row.take(&mut one, 1, 0).is_admitted);
    assert_eq!(row.exhaust(&mut other, SECOND * 95 / 100), 90);
    assert!(one.queue_if_unused(SECOND));
    row.exchange(&mut one, SECOND);
    // The units that were returned, and half of one that was refilled.
    assert_eq!(row.exhaust(&mut third, SECOND), 9);
}

#[test]
fn units_used_at_several_nodes_are_refilled_once() {
    let (mut one, mut other, mut row) = (bucket(), bucket(), Row::default());
    let (mut third, later) = (bucket(), SECOND * 9 / 10);
    for bucket in [&mut one, &mut other] {
        row.take(bucket, 1, 0);
        for _ in 0..5 {
            assert!(row.take(bucket, 1, later).is_admitted);
        }
        row.exchange(bucket, later);
    }
    // Both have used five since then, and hold ten.
    let granted = row.exhaust(&mut third, later);
    assert!((69..=70).contains(&granted), "{granted}");
}

#[test]
fn the_units_of_a_killed_node_are_missing_for_two_seconds() {
    let (mut one, mut other, mut row) = (bucket(), bucket(), Row::default());
    row.take(&mut one, 1, 0);
    assert_eq!(row.exhaust(&mut other, 2 * SECOND - 1), 90);
    let (mut one, mut other, mut row) = (bucket(), bucket(), Row::default());
    row.take(&mut one, 1, 0);
    assert_eq!(row.exhaust(&mut other, 2 * SECOND), 100);
}

#[test]
fn units_that_this_node_cannot_grant_return_to_the_others() {
    let (mut bucket, mut row) = (bucket(), Row::default());
    row.take(&mut bucket, 1, 0);
    // Others take the rest.
    row.full_at += 9 * SECOND;
    assert!(bucket.queue_if_unused(SECOND));
    row.exchange(&mut bucket, SECOND);
    assert_eq!(row.full_at, 10 * SECOND - bucket.rate().time(9));
}
