use std::sync::Arc;

use domain::{NodeId, TurnId};
use uuid::Uuid;

use super::{super::registry::*, fixture::subject};

fn of(number: u128) -> TurnSubject {
    TurnSubject {
        turn_id: TurnId::new(Uuid::from_u128(number)),
        ..subject()
    }
}

#[test]
fn ended_turns_take_no_memory() {
    let turns = Arc::new(LiveTurns::default());
    let mut known: Vec<_> = (0..1_000)
        .map(|number| turns.get_or_register(of(number)))
        .collect();
    let again: Vec<_> = (0..1_000)
        .map(|number| turns.get_or_register(of(number)))
        .collect();
    assert!(
        known
            .iter()
            .zip(&again)
            .all(|(one, other)| Arc::ptr_eq(one, other))
    );
    assert_eq!(turns.turns.lock().len(), 1_000);
    drop(again);
    assert_eq!(turns.turns.lock().len(), 1_000);
    known.retain(|turn| turn.subject().turn_id.uuid().as_u128() % 3 == 0);
    assert_eq!(turns.turns.lock().len(), known.len());
    drop(known);
    assert_eq!(turns.turns.lock().len(), 0);
    assert!(turns.get(of(1).turn_id).is_none());
}

#[test]
fn dropping_a_turn_keeps_a_later_registration_of_the_same_id() {
    let turns = Arc::new(LiveTurns::default());
    let (before, id) = (turns.get_or_register(of(1)), of(1).turn_id);
    // The state in which the last reference to `before` is dropped after `after` was registered.
    turns.turns.lock().clear();
    let after = turns.get_or_register(of(1));
    drop(before);
    assert!(Arc::ptr_eq(&turns.get(id).expect("it is known"), &after));
}

#[test]
fn only_turns_of_earlier_node_ids_are_interrupted() {
    let turns = Arc::new(LiveTurns::default());
    let node = |number| NodeId::new(Uuid::from_u128(number));
    let held: Vec<_> = (0..4)
        .map(|number| turns.get_or_register(of(number)))
        .collect();
    for (turn, under) in held.iter().zip([Some(1), Some(2), Some(3), None]) {
        turn.set_local_node(under.map(node));
    }
    turns.interrupt_of_earlier_nodes(|| node(3));
    let interrupted: Vec<bool> = held.iter().map(|turn| turn.is_interrupted()).collect();
    assert_eq!(interrupted, [true, true, false, false]);
}
