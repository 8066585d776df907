//! Conversations that move to another user while a tail holds their events.

use std::sync::Arc;

use application::realtime::{EventFilter, LogRead, SerializedEvent};
use domain::{EventType, Seq};
use serde_json::Value;

use crate::fixture::{EventSpec, FilterSpec, Fixture, everything, user};

const ADA: u8 = 1;
const BOB: u8 = 2;

/// An event in a conversation of this user.
fn of(user: u8, conversation: u8, kind: EventType) -> EventSpec {
    EventSpec {
        user: Some(user),
        conversation: Some(conversation),
        ..EventSpec::of_type(kind)
    }
}

/// The move of conversation 0 to this user.
fn moved(from: u8, to: u8) -> EventSpec {
    EventSpec {
        moved_from: Some(from),
        ..of(to, 0, EventType::ConversationUpdated)
    }
}

fn only_of(reader: u8) -> EventFilter {
    FilterSpec {
        types: Vec::new(),
        agent: None,
        conversation: None,
        agents: true,
        conversations: true,
        principal: 0,
        user: Some(reader),
    }
    .filter()
}

/// A tail that holds a conversation of Ada, which has moved to Bob, and another one of Ada.
async fn with_a_move() -> (Fixture, Arc<application::realtime::Tail>) {
    let fixture = Fixture::new();
    let tail = fixture.tail().await;
    fixture.log.append([
        of(ADA, 0, EventType::ConversationCreated),
        of(ADA, 1, EventType::TurnStarted),
        of(ADA, 0, EventType::TurnStarted),
    ]);
    fixture.hint();
    fixture.reaches(&tail, Seq(3)).await;
    fixture
        .log
        .append([moved(ADA, BOB), of(BOB, 0, EventType::TurnCompleted)]);
    fixture.hint();
    fixture.reaches(&tail, Seq(5)).await;
    (fixture, tail)
}

/// The position, type and user of each event that a reader receives.
async fn seen(
    (fixture, tail): &(Fixture, Arc<application::realtime::Tail>),
    filter: &EventFilter,
) -> Vec<(i64, String, String)> {
    let LogRead::Events { events, .. } = fixture.read(tail, filter, 0).await else {
        panic!("the log reaches back to its beginning");
    };
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let envelope = |event: &Arc<SerializedEvent>| {
        let json: Value = serde_json::from_str(event.json(&filter.visibility)).expect("an event");
        (event.seq().0, text(&json["type"]), text(&json["userId"]))
    };
    events.iter().map(envelope).collect()
}

fn expected<const N: usize>(events: [(i64, &str, u8); N]) -> [(i64, String, String); N] {
    events.map(|(seq, kind, of)| (seq, kind.to_owned(), user(of)))
}

#[tokio::test]
async fn earlier_events_in_memory_belong_to_the_new_user() {
    let log = with_a_move().await;
    let of_bob = expected([
        (1, "conversation.created", BOB),
        (3, "turn.started", BOB),
        (4, "conversation.updated", BOB),
        (5, "turn.completed", BOB),
    ]);
    assert_eq!(seen(&log, &only_of(BOB)).await, of_bob);
    let of_staff = expected([
        (1, "conversation.created", BOB),
        (2, "turn.started", ADA),
        (3, "turn.started", BOB),
        (4, "conversation.updated", BOB),
        (5, "turn.completed", BOB),
    ]);
    assert_eq!(seen(&log, &everything()).await, of_staff);
    assert_eq!(log.0.log.pages(), 2, "the events are in memory");
}

#[tokio::test]
async fn the_move_is_a_deletion_to_the_user_before() {
    let log = with_a_move().await;
    let mut filter = only_of(ADA);
    let of_ada = expected([(2, "turn.started", ADA), (4, "conversation.deleted", ADA)]);
    assert_eq!(seen(&log, &filter).await, of_ada);
    filter.types = vec![EventType::ConversationDeleted];
    let deletion = expected([(4, "conversation.deleted", ADA)]);
    assert_eq!(seen(&log, &filter).await, deletion);
    filter.types = vec![EventType::ConversationUpdated];
    assert_eq!(seen(&log, &filter).await, []);
}

#[tokio::test]
async fn a_conversation_that_comes_back_is_no_deletion_to_its_user() {
    let log = with_a_move().await;
    log.0.log.append([moved(BOB, ADA)]);
    log.0.hint();
    log.0.reaches(&log.1, Seq(6)).await;
    let of_ada = expected([
        (1, "conversation.created", ADA),
        (2, "turn.started", ADA),
        (3, "turn.started", ADA),
        (4, "conversation.updated", ADA),
        (5, "turn.completed", ADA),
        (6, "conversation.updated", ADA),
    ]);
    assert_eq!(seen(&log, &only_of(ADA)).await, of_ada);
    let of_bob = expected([(6, "conversation.deleted", BOB)]);
    assert_eq!(seen(&log, &only_of(BOB)).await, of_bob);
}
