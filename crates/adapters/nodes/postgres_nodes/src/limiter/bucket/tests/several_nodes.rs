//! Buckets of several nodes with one row.

use super::*;

#[test]
fn units_returned_after_their_refill_are_not_granted_twice() {
    let (mut one, mut other, mut third, mut row) = (bucket(), bucket(), bucket(), Row::default());
    assert!(row.take(&mut one, 1, 0).is_admitted);
    // The unit that was used is refilled, and nine are held.
    assert_eq!(row.exhaust(&mut other, SECOND * 95 / 100), 91);
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
    assert_eq!(row.exhaust(&mut other, 2 * SECOND - 1), 91);
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

#[test]
fn the_units_of_killed_nodes_do_not_add_up_while_others_continue() {
    let (mut one, mut row) = (bucket(), Row::default());
    let (mut now, mut granted) = (0, 0);
    for _ in 0..40 {
        row.take(&mut bucket(), 1, now);
        for _ in 0..5 {
            now += SECOND / 10;
            granted += u32::from(row.take(&mut one, 1, now).is_admitted);
        }
    }
    assert_eq!(granted, 200, "less than the rate");
}

#[test]
fn units_that_are_granted_at_once_are_not_held() {
    let (mut one, mut other, mut row) = (bucket(), bucket(), Row::default());
    row.take(&mut other, 1, 0);
    assert!(row.take(&mut one, 60, 0).is_admitted);
    // The other node holds nine.
    assert_eq!((row.held, row.full_at), (SECOND * 9 / 10, 7 * SECOND));
    assert_eq!(one.units.held(), 0);
}

#[test]
fn units_for_a_caller_that_has_given_up_are_held() {
    let (mut bucket, mut row) = (bucket(), Row::default());
    drop(bucket.take_shared(30, 0));
    row.exchange(&mut bucket, 0);
    assert_eq!((row.held, bucket.units.held()), (0, 30));
    let request = row.exchange(&mut bucket, 0);
    assert_eq!(request.returned, bucket.rate().time(30));
    assert_eq!((row.held, row.full_at), (0, 0));
}
