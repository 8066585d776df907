//! The removal of deleted data from a tail.

use application::realtime::{LogUpdate, Tail};
use domain::{EventData, EventType, Seq};

use crate::fixture::{EventSpec, Fixture, events, everything, tenant};

/// The types of the events that a tail holds, each with a flag for data that is not deleted.
fn shown(tail: &Tail) -> Vec<(EventType, bool)> {
    let held = tail
        .read(Seq(0), events(100), |_| true)
        .expect("all is held");
    let shown = held.events.iter().map(|event| {
        let is_empty = event.logged.event.data == EventData::DELETED;
        assert_eq!(
            event.whole_json().contains(r#""data":{"deleted":true}"#),
            is_empty
        );
        (event.logged.event.kind, !is_empty)
    });
    shown.collect()
}

#[tokio::test]
async fn a_deletion_removes_the_data_of_a_conversation_from_the_tail() {
    let fixture = Fixture::new();
    let tail = fixture.tail().await;
    let (mine, others) = (0, 1);
    let of = |conversation, kind| EventSpec {
        conversation: Some(conversation),
        ..EventSpec::of_type(kind)
    };
    fixture.log.append([
        EventSpec::of_type(EventType::AgentCreated),
        of(mine, EventType::ConversationCreated),
        of(others, EventType::TurnStarted),
        of(mine, EventType::TurnCancelled),
    ]);
    fixture.hint();
    fixture.reaches(&tail, Seq(4)).await;
    fixture
        .log
        .append([of(mine, EventType::ConversationDeleted)]);
    fixture.hint();
    fixture.reaches(&tail, Seq(5)).await;
    assert_eq!(
        shown(&tail),
        [
            (EventType::AgentCreated, true),
            (EventType::ConversationCreated, false),
            (EventType::TurnStarted, true),
            (EventType::TurnCancelled, false),
            (EventType::ConversationDeleted, true),
        ]
    );
}

#[tokio::test]
async fn a_deletion_does_not_change_an_event_of_an_unknown_type() {
    let fixture = Fixture::new();
    let tail = fixture.tail().await;
    let of_newer = EventType::read("conversation.praised");
    let mut appended = EventSpec {
        conversation: Some(0),
        ..EventSpec::of_type(EventType::ConversationUpdated)
    }
    .logged(1);
    appended.event.kind = of_newer;
    appended.event.data = EventData::Unknown {};
    fixture.log.append_logged(appended);
    fixture.log.append([EventSpec {
        conversation: Some(0),
        ..EventSpec::of_type(EventType::ConversationDeleted)
    }]);
    fixture.hint();
    fixture.reaches(&tail, Seq(2)).await;
    let expected = [(of_newer, true), (EventType::ConversationDeleted, true)];
    assert_eq!(shown(&tail), expected);
}

#[tokio::test]
async fn a_deletion_removes_the_data_of_an_agent_and_its_conversations_from_the_tail() {
    let fixture = Fixture::new();
    let tail = fixture.tail().await;
    let of = |agent, kind| EventSpec {
        agent,
        ..EventSpec::of_type(kind)
    };
    fixture.log.append([
        of(0, EventType::AgentUpdated),
        of(1, EventType::AgentUpdated),
        of(0, EventType::TurnCompleted),
        of(0, EventType::ConversationDeleted),
        of(1, EventType::TurnCompleted),
        of(0, EventType::AgentDeleted),
    ]);
    fixture.hint();
    fixture.reaches(&tail, Seq(6)).await;
    assert_eq!(
        shown(&tail),
        [
            (EventType::AgentUpdated, false),
            (EventType::AgentUpdated, true),
            (EventType::TurnCompleted, false),
            (EventType::ConversationDeleted, false),
            (EventType::TurnCompleted, true),
            (EventType::AgentDeleted, true),
        ]
    );
}

#[tokio::test]
async fn a_reader_that_starts_after_a_deletion_receives_no_deleted_data() {
    let fixture = Fixture::new();
    let tail = fixture.tail().await;
    let of = |kind| EventSpec {
        conversation: Some(0),
        ..EventSpec::of_type(kind)
    };
    fixture.log.append([of(EventType::ConversationCreated)]);
    fixture.hint();
    fixture.reaches(&tail, Seq(1)).await;
    // Another node deletes the conversation, and no hint of that has arrived yet.
    fixture.log.append([of(EventType::ConversationDeleted)]);
    let tenant = tenant();
    let follower = fixture.reader.follow(&tenant, everything(), Some(Seq(0)));
    let mut follower = follower.await.expect("the log answers");
    let LogUpdate::Events(events) = follower.next().await.expect("the log answers") else {
        panic!("there are events");
    };
    assert_eq!(events[0].logged.event.data, EventData::DELETED);
}
