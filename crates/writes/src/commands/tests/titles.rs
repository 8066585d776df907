//! Tests of titles by models.

use domain::{Conversation, EventType, TitleSource, UsageKind};
use ports::write_store::EventInDoubt;

use super::*;
use crate::TitleConversation;

fn conversation() -> Conversation {
    fixture::conversation(1, agent().id)
}

fn title(conversation: &Conversation) -> TitleConversation {
    TitleConversation {
        requests: fixture::requests(5),
        ..fixture::title_conversation(7, conversation)
    }
}

/// The numbers of the requests, all for the title after turn 7.
fn requests(rows: &Rows) -> Vec<i64> {
    let of_title = |row: &ports::write_store::UsageRow| {
        assert_eq!(
            (row.kind, row.turn_id),
            (UsageKind::Title, fixture::turn_id(7))
        );
        assert_eq!(row.principal.as_str(), "service");
        row.request.number
    };
    rows.usage.iter().map(of_title).collect()
}

#[test]
fn a_title_is_written_with_its_requests() {
    let (rows, outcome) = carried_out(&title(&conversation()), &facts());
    let (at, titled) = outcome.unwrap();
    assert_eq!(at, committed(11, 11));
    assert_eq!(titled.title.as_deref(), Some("By a model"));
    assert_eq!(titled.title_source, Some(TitleSource::Model));
    assert_eq!((titled.version, titled.message_count), (2, 4));
    assert_eq!(events(&rows), [(11, "conversation.updated")]);
    assert_eq!(rows.events[0].actor.as_str(), "service");
    assert_eq!(rows.conversation_updates[0].conversation, titled);
    assert_eq!(requests(&rows), [1, 2]);
}

#[test]
fn without_a_title_only_the_requests_are_written() {
    let removed = Conversation {
        title_source: Some(TitleSource::Person),
        ..conversation()
    };
    let without = TitleConversation {
        title: None,
        ..title(&conversation())
    };
    let mut without_conversation = facts();
    without_conversation.conversations.clear();
    for (command, facts) in [
        (
            title(&fixture::retitled(&conversation(), "Orders")),
            facts(),
        ),
        (title(&removed), facts()),
        (without, facts()),
        (title(&conversation()), without_conversation),
    ] {
        let (rows, outcome) = carried_out(&command, &facts);
        assert_eq!(outcome, None);
        assert_eq!(requests(&rows), [1, 2]);
        let rest = Rows {
            usage: Vec::new(),
            ..rows
        };
        assert_eq!(rest, Rows::default());
    }
}

#[test]
fn a_title_of_another_version_is_stale() {
    let mut facts = facts();
    facts.conversation_mut().version = 2;
    assert_stale(&title(&conversation()), &facts);
}

#[test]
fn a_stored_title_is_confirmed() {
    let command = title(&conversation());
    let mut facts = facts();
    facts.conversation_mut().version = 2;
    let logged = |stamp| EventInDoubt {
        tenant: fixture::tenant(),
        seq: Seq(11),
        kind: EventType::ConversationUpdated,
        stamp,
        agent_id: Some(agent().id),
        conversation_id: Some(conversation().id),
        turn_id: None,
    };
    facts.logged = vec![logged(command.stamp.clone())];
    let (at, titled) = stored(&command, &facts).unwrap();
    assert_eq!((at, titled.version), (committed(11, 11), 2));
    facts.logged = vec![logged(fixture::stamp(8))];
    let (rows, outcome) = not_stored(&command, &facts);
    assert_eq!(rows, Rows::default());
    assert!(matches!(outcome, Err(RepositoryError::Stale { .. })));
}
