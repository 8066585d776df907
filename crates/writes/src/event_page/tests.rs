//! Tests of pages of invented records.

use std::collections::HashMap;

use domain::{
    ErasureId, EventData, Seq,
    erasure::{EndedErasure, ErasureCounts},
    event_data::Tombstone,
};
use ports::LogBounds;
use rstest::rstest;
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::fixture;

fn record(seq: i64, kind: EventType) -> EventRecord {
    let stamp = fixture::stamp(seq);
    let agent = fixture::agent(1);
    let conversation = fixture::conversation(1, agent.id);
    let is_of_turn = kind.as_str().starts_with("turn.");
    let row = EventRow {
        tenant: fixture::tenant(),
        seq: Seq(seq),
        time: stamp.time,
        agent_id: Some(agent.id),
        conversation_id: (!kind.is_of_agent()).then_some(conversation.id),
        user_id: kind.is_of_user().then(|| "ada".to_owned()),
        turn_id: is_of_turn.then(|| fixture::turn_id(1)),
        actor: stamp.actor,
        data: match kind {
            EventType::AgentDeleted => Some(json!(Tombstone::new(agent.id, 3))),
            EventType::ConversationDeleted => Some(json!(Tombstone::new(conversation.id, 1))),
            EventType::UserErased => Some(json!(EndedErasure {
                erasure_id: ErasureId::new(Uuid::nil()),
                counts: ErasureCounts::default(),
            })),
            _ => None,
        },
        snapshot: None,
        kind,
    };
    EventRecord {
        row,
        started_by: None,
        agent_exists: true,
        conversation_exists: !kind.is_of_agent(),
        bytes: 10,
    }
}

fn query(since: i64, limit: usize) -> EventQuery {
    EventQuery {
        since: Seq(since),
        limit,
        bytes: usize::MAX,
        types: Vec::new(),
        agent_id: None,
        conversation_id: None,
        visibility: None,
    }
}

/// The rows that a page selects from these.
fn select(records: Vec<EventRecord>, bounds: LogBounds, query: &EventQuery) -> SelectedEvents {
    let until = bounds.head.min(query.since.plus(10_000));
    let scan = EventScan {
        records,
        bounds,
        until,
    };
    ShownEvents.select(scan, query)
}

/// The rows that a page selects if its limit is greater than their number.
fn select_all(records: Vec<EventRecord>, head: i64) -> SelectedEvents {
    select(records, LogBounds::new(Seq(1), Seq(head)), &query(0, 100))
}

#[rstest]
// A full page ends at its last event.
#[case(0, 1, 1, 20_000, 5)]
// A shorter page has scanned the whole log, or as much as one page may.
#[case(0, 2, 1, 8, 8)]
#[case(0, 2, 1, 20_000, 10_000)]
// Nothing was scanned outside the log.
#[case(3, 2, 5, 8, 3)]
#[case(9, 2, 1, 8, 9)]
fn the_next_page_begins_where_the_scan_ended(
    #[case] since: i64,
    #[case] limit: usize,
    #[case] first: i64,
    #[case] head: i64,
    #[case] expected: i64,
) {
    let records = vec![record(5, EventType::AgentDeleted)];
    let bounds = LogBounds::new(Seq(first), Seq(head));
    let selected = select(records, bounds, &query(since, limit));
    let page = ShownEvents.join(selected, EventContent::default()).unwrap();
    assert_eq!(page.next_since, Seq(expected));
}

#[rstest]
#[case(29, 2)]
#[case(30, 3)]
#[case(10, 1)]
#[case(0, 1)]
fn a_page_ends_at_its_byte_limit(#[case] bytes: usize, #[case] expected: i64) {
    let records = (1..=3).map(|seq| record(seq, EventType::AgentCreated));
    let query = EventQuery {
        bytes,
        ..query(0, 100)
    };
    let bounds = LogBounds::new(Seq(1), Seq(3));
    let selected = select(records.collect(), bounds, &query);
    let positions: HashSet<_> = selected.wanted.snapshots.iter().copied().collect();
    assert_eq!(positions, (1..=expected).map(Seq).collect());
    let page = ShownEvents.join(selected, EventContent::default()).unwrap();
    assert_eq!(page.next_since, Seq(expected));
}

#[test]
fn deleted_content_counts_as_zero_bytes() {
    let deleted = |seq| EventRecord {
        agent_exists: false,
        ..record(seq, EventType::AgentCreated)
    };
    let records = vec![deleted(1), deleted(2), record(3, EventType::AgentCreated)];
    let query = EventQuery {
        bytes: 10,
        ..query(0, 100)
    };
    let selected = select(records, LogBounds::new(Seq(1), Seq(3)), &query);
    assert_eq!(selected.records.len(), 3);
    assert_eq!(selected.wanted.snapshots, [Seq(3)]);
}

/// Returns true if the event at 1 still shows its content.
fn is_shown(record: EventRecord) -> bool {
    let agent = fixture::agent(1);
    let content = EventContent {
        snapshots: HashMap::from([(Seq(1), agent)]),
        ..EventContent::default()
    };
    let page = ShownEvents.join(select_all(vec![record], 1), content);
    page.unwrap().events[0].event.data != EventData::DELETED
}

#[test]
fn a_deleted_agent_leaves_only_the_event_of_its_deletion() {
    for kind in EventType::ALL {
        let deleted = EventRecord {
            agent_exists: false,
            conversation_exists: false,
            ..record(1, *kind)
        };
        assert_eq!(
            is_shown(deleted),
            // Users belong to no agent.
            *kind == EventType::AgentDeleted || kind.is_of_user(),
            "{kind:?}"
        );
    }
}

#[test]
fn a_deleted_conversation_leaves_the_events_of_its_agent_and_of_its_deletion() {
    for kind in EventType::ALL.iter().filter(|kind| !kind.is_of_agent()) {
        let deleted = EventRecord {
            conversation_exists: false,
            ..record(1, *kind)
        };
        assert_eq!(
            is_shown(deleted),
            *kind == EventType::ConversationDeleted || kind.is_of_user(),
            "{kind:?}"
        );
    }
    assert!(is_shown(record(1, EventType::AgentCreated)));
}

#[test]
fn deleted_content_is_not_read() {
    let turn = record(1, EventType::TurnStarted);
    let deleted = EventRecord {
        conversation_exists: false,
        ..record(2, EventType::TurnStarted)
    };
    let created = record(3, EventType::ConversationCreated);
    assert_eq!(select_all(vec![deleted.clone()], 2).wanted.turns, []);
    let wanted = select_all(vec![turn, deleted, created], 3).wanted;
    assert_eq!(wanted.turns, [fixture::turn_id(1)]);
    assert_eq!(wanted.conversations, [fixture::conversation_id(1)]);
    assert_eq!(wanted.messages, [(fixture::conversation_id(1), 1)]);
}

#[test]
fn a_tombstone_without_an_id_is_corrupt() {
    let mut broken = record(1, EventType::AgentDeleted);
    broken.row.data = Some(Value::from(1));
    let page = ShownEvents.join(select_all(vec![broken], 1), EventContent::default());
    let error = page.unwrap_err();
    assert!(matches!(error, RepositoryError::Corrupt { ref what, .. } if what == "events.data"));
}
