use std::sync::Arc;

use domain::{ConversationId, NodeId, Seq, TurnId};
use uuid::Uuid;

use super::{
    super::{LiveTurn, registry::*},
    fixture::subject,
};

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

fn user_of(turn: &LiveTurn) -> Option<String> {
    turn.subject().user.get().map(|user| user.to_string())
}

#[test]
fn turns_go_along_with_a_conversation_that_moves() {
    let turns = Arc::new(LiveTurns::default());
    let other = ConversationId::new(Uuid::from_u128(99));
    let running = turns.get_or_register(of(1));
    let elsewhere = turns.get_or_register(TurnSubject {
        conversation_id: other,
        ..of(2)
    });
    let key = (subject().tenant, subject().conversation_id);
    turns.move_conversation(&key, Some("ada"), Seq(5));
    assert_eq!(user_of(&running).as_deref(), Some("ada"));
    assert_eq!(user_of(&elsewhere), None);
    // The state of this turn was read before the move.
    let late = turns.get_or_register(of(3));
    assert_eq!(user_of(&late).as_deref(), Some("ada"));
    // The moves arrive in any order, and twice.
    turns.move_conversation(&key, Some("bob"), Seq(7));
    turns.move_conversation(&key, Some("eve"), Seq(6));
    turns.apply_move(&key, Some("ada"), Seq(5));
    assert_eq!(user_of(&running).as_deref(), Some("bob"));
    turns.apply_move(&key, None, Seq(8));
    assert_eq!(user_of(&running), None);
    assert_eq!(turns.matching(|it| it.user.get().is_none()).len(), 3);
}
