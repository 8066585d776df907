//! Pages of records made up for each test.

use contract::samples;
use rstest::rstest;

use super::*;
use crate::event_rows::{self, LogPlace, TurnPlace};

fn record(seq: i64, kind: EventType) -> EventRecord {
    let (tenant, stamp) = (samples::tenant(), samples::stamp(seq));
    let place = LogPlace {
        tenant: &tenant,
        seq: Seq(seq),
        stamp: &stamp,
    };
    let agent = samples::agent(1);
    let conversation = samples::conversation(1, agent.id);
    let row = match kind {
        EventType::AgentCreated => event_rows::agent_created(place, &agent),
        EventType::AgentUpdated => event_rows::agent_updated(place, &agent),
        EventType::AgentDeleted => event_rows::agent_deleted(place, agent.id, 3),
        EventType::ConversationCreated => event_rows::conversation_created(place, &conversation),
        EventType::ConversationUpdated => event_rows::conversation_updated(place, &conversation),
        EventType::ConversationDeleted => event_rows::conversation_deleted(place, &conversation),
        turn => event_rows::turn(
            place,
            turn,
            TurnPlace {
                turn_id: samples::turn_id(1),
                conversation_id: conversation.id,
                agent_id: agent.id,
                user_id: None,
            },
        ),
    };
    EventRecord {
        row,
        asker: None,
        agent_exists: true,
        conversation_exists: !kind.is_of_agent(),
    }
}

fn scan(records: Vec<EventRecord>, first: i64, head: i64) -> EventScan {
    EventScan {
        records,
        first: Seq(first),
        head: Seq(head),
    }
}

#[rstest]
// A full page ends at its last event.
#[case(0, 1, 1, 20_000, 5)]
// A short one has scanned all there is, or as much as one page may.
#[case(0, 2, 1, 8, 8)]
#[case(0, 2, 1, 20_000, 10_000)]
// Outside the log nothing was scanned.
#[case(3, 2, 5, 8, 3)]
#[case(9, 2, 1, 8, 9)]
fn the_next_page_begins_where_the_scan_ended(
    #[case] since: i64,
    #[case] limit: usize,
    #[case] first: i64,
    #[case] head: i64,
    #[case] expected: i64,
) {
    let scan = scan(vec![record(5, EventType::AgentCreated)], first, head);
    let page = scan
        .into_page(Seq(since), limit, &EventContent::default())
        .unwrap();
    assert_eq!(page.next_since, Seq(expected));
}

/// Whether the event at 1 still tells its content.
fn is_told(record: EventRecord) -> bool {
    let page = scan(vec![record], 1, 1)
        .into_page(Seq(0), 1, &EventContent::default())
        .unwrap();
    page.events[0].event.data != EventData::DELETED
}

#[test]
fn of_what_is_deleted_only_the_deletion_is_told() {
    for kind in EventType::ALL {
        let gone = EventRecord {
            agent_exists: false,
            conversation_exists: false,
            ..record(1, *kind)
        };
        assert_eq!(is_told(gone), *kind == EventType::AgentDeleted, "{kind:?}");
    }
}

#[test]
fn a_deleted_conversation_leaves_its_agent_and_its_own_deletion() {
    for kind in EventType::ALL.iter().filter(|kind| !kind.is_of_agent()) {
        let gone = EventRecord {
            conversation_exists: false,
            ..record(1, *kind)
        };
        assert_eq!(
            is_told(gone),
            *kind == EventType::ConversationDeleted,
            "{kind:?}"
        );
    }
    assert!(is_told(record(1, EventType::AgentCreated)));
}

#[test]
fn asks_for_nothing_that_is_deleted() {
    let turn = record(1, EventType::TurnStarted);
    let gone = EventRecord {
        conversation_exists: false,
        ..record(2, EventType::TurnStarted)
    };
    let made = record(3, EventType::ConversationCreated);
    assert_eq!(scan(vec![gone.clone()], 1, 2).turn_ids(), []);
    let scan = scan(vec![turn, gone, made], 1, 3);
    assert_eq!(scan.turn_ids(), [samples::turn_id(1)]);
    assert_eq!(scan.conversation_ids(), [samples::conversation_id(1)]);
    assert_eq!(scan.greeting_ids(), [samples::conversation_id(1)]);
}

#[test]
fn a_snapshot_that_is_no_agent_is_corrupt() {
    let mut broken = record(1, EventType::AgentCreated);
    broken.row.data = Some(Value::from(1));
    let page = scan(vec![broken], 1, 1).into_page(Seq(0), 1, &EventContent::default());
    let error = page.unwrap_err();
    assert!(matches!(error, RepositoryError::Corrupt { ref what, .. } if what == "events.data"));
}
