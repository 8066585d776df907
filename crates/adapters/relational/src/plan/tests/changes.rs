//! Tests of changes of agents, conversations and credentials.

use domain::{EventType, Stamp};
use ports::{Committed, DeleteOutcome, Idempotent};

use super::*;
use crate::{
    CreateCredential, CredentialFacts, DeleteConversation, EventInDoubt, RevokeCredential,
    StateChange, UpdateAgent, UpdateConversation, plan::TurnToCancel,
};

fn update_agent(version: i64) -> WriteOp {
    WriteOp::UpdateAgent(Box::new(UpdateAgent {
        tenant: fixture::tenant(),
        agent: Agent { version, ..agent() },
        stamp: fixture::stamp(9),
    }))
}

fn update_conversation(version: i64) -> WriteOp {
    let conversation = fixture::conversation(1, agent().id);
    WriteOp::UpdateConversation(Box::new(UpdateConversation {
        tenant: fixture::tenant(),
        conversation: domain::Conversation {
            version,
            ..conversation
        },
        stamp: fixture::stamp(9),
    }))
}

fn delete_conversation(expected: Option<i64>) -> WriteOp {
    WriteOp::DeleteConversation(Box::new(DeleteConversation {
        tenant: fixture::tenant(),
        id: fixture::conversation_id(1),
        expected,
        stamp: fixture::stamp(9),
    }))
}

fn create_key() -> WriteOp {
    WriteOp::CreateCredential(Box::new(CreateCredential {
        credential: fixture::key(1),
        idempotency: Some(fixture::entry("once")),
    }))
}

fn revoke_key() -> WriteOp {
    WriteOp::RevokeCredential(Box::new(RevokeCredential {
        tenant: fixture::tenant(),
        kind: fixture::key(1).kind,
        id: fixture::key(1).id,
        at: fixture::at(9),
    }))
}

fn insert_key(facts: &mut Facts, is_revoked: bool) {
    let key = fixture::key(1);
    let stored = CredentialFacts {
        tenant: key.tenant,
        kind: key.kind,
        is_revoked,
    };
    facts.credentials.insert(key.id, stored);
}

const fn committed(first: i64, last: i64) -> Committed {
    Committed {
        first: Seq(first),
        last: Seq(last),
    }
}

#[test]
fn an_update_of_the_next_version_is_logged_once() {
    let (rows, outcome) = carried_out(update_agent(2), &facts());
    assert_eq!(outcome, WriteOutcome::UpdateAgent(Some(committed(11, 11))));
    assert_eq!(events(&rows), [(11, "agent.updated")]);
    assert_eq!(rows.agent_updates[0].agent.version, 2);

    let (rows, outcome) = carried_out(update_conversation(2), &facts());
    let WriteOutcome::UpdateConversation(Some((at, stored))) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!((at, stored.message_count), (committed(11, 11), 4));
    assert_eq!(events(&rows), [(11, "conversation.updated")]);
}

#[test]
fn changes_of_another_version_are_stale() {
    for op in [
        update_agent(3),
        update_conversation(3),
        delete_conversation(Some(2)),
    ] {
        let outcome = rejected(op, &facts());
        assert!(
            matches!(outcome, Err(RepositoryError::Stale { .. })),
            "{outcome:?}"
        );
    }
}

#[test]
fn a_change_of_a_missing_entity_writes_nothing() {
    let facts = Facts::default();
    let outcomes = [
        (update_agent(2), WriteOutcome::UpdateAgent(None)),
        (
            update_conversation(2),
            WriteOutcome::UpdateConversation(None),
        ),
        (
            delete_conversation(None),
            WriteOutcome::DeleteConversation(DeleteOutcome::NotFound),
        ),
        (revoke_key(), WriteOutcome::RevokeCredential(false)),
    ];
    for (op, outcome) in outcomes {
        assert_eq!(rejected(op, &facts).unwrap(), outcome);
    }
}

#[test]
fn a_deletion_cancels_the_open_turns_first() {
    let mut facts = busy_facts();
    let open = [8, 9].map(|number| TurnToCancel {
        id: fixture::turn_id(number),
        conversation_id: fixture::conversation_id(1),
        agent_id: agent().id,
        user_id: None,
        latest_time: fixture::at(1),
    });
    let key = (fixture::tenant(), fixture::conversation_id(1));
    facts.open_turns.insert(key, open.into());
    let (rows, outcome) = carried_out(delete_conversation(Some(1)), &facts);
    let deleted = DeleteOutcome::Deleted(committed(11, 13));
    assert_eq!(outcome, WriteOutcome::DeleteConversation(deleted));
    let expected = [
        (11, "turn.cancelled"),
        (12, "turn.cancelled"),
        (13, "conversation.deleted"),
    ];
    assert_eq!(events(&rows), expected);
    assert_eq!(rows.conversation_deletions.len(), 1);
}

#[test]
fn a_key_is_created_once() {
    let mut facts = facts();
    let (rows, outcome) = carried_out(create_key(), &facts);
    assert_eq!(
        outcome,
        WriteOutcome::CreateCredential(Idempotent::Applied(()))
    );
    let expected = StateChange {
        raises_access_version: false,
        records_key: true,
    };
    assert_eq!(rows.state, expected);
    assert_eq!((rows.credentials.len(), rows.idempotency.len()), (1, 1));

    insert_key(&mut facts, false);
    let again = rejected(create_key(), &facts);
    assert!(matches!(again, Err(RepositoryError::Conflict { .. })));
    facts
        .idempotency
        .extend([record_of(&fixture::entry("once"))]);
    let again = rejected(create_key(), &facts).unwrap();
    assert!(matches!(
        again,
        WriteOutcome::CreateCredential(Idempotent::Replayed(_))
    ));
}

#[test]
fn a_revocation_raises_the_access_version_once() {
    let mut facts = facts();
    insert_key(&mut facts, false);
    let (rows, outcome) = carried_out(revoke_key(), &facts);
    assert_eq!(outcome, WriteOutcome::RevokeCredential(true));
    assert!(rows.state.raises_access_version && !rows.state.records_key);
    insert_key(&mut facts, true);
    let again = rejected(revoke_key(), &facts).unwrap();
    assert_eq!(again, WriteOutcome::RevokeCredential(true));
}

fn logged(seq: i64, kind: EventType, stamp: Stamp) -> EventInDoubt {
    EventInDoubt {
        tenant: fixture::tenant(),
        seq: Seq(seq),
        kind,
        stamp,
        agent_id: Some(agent().id),
        conversation_id: Some(fixture::conversation_id(1)),
        turn_id: None,
    }
}

#[test]
fn stored_changes_in_doubt_are_reported() {
    let mut facts = facts();
    facts.is_in_doubt = true;
    facts.agents.clear();
    facts.conversation_mut().version = 2;
    facts.logged = vec![
        logged(11, EventType::AgentUpdated, fixture::stamp(9)),
        logged(12, EventType::ConversationUpdated, fixture::stamp(9)),
        logged(13, EventType::TurnCancelled, fixture::stamp(8)),
        logged(14, EventType::TurnCancelled, fixture::stamp(9)),
        logged(15, EventType::ConversationDeleted, fixture::stamp(9)),
    ];
    insert_key(&mut facts, false);
    assert_eq!(
        rejected(update_agent(2), &facts).unwrap(),
        WriteOutcome::UpdateAgent(Some(committed(11, 11)))
    );
    let updated = rejected(update_conversation(2), &facts).unwrap();
    assert!(matches!(
        updated,
        WriteOutcome::UpdateConversation(Some((at, _))) if at == committed(12, 12)
    ));
    assert_eq!(
        rejected(delete_conversation(Some(1)), &facts).unwrap(),
        WriteOutcome::DeleteConversation(DeleteOutcome::Deleted(committed(14, 15)))
    );
    assert_eq!(
        rejected(create_key(), &facts).unwrap(),
        WriteOutcome::CreateCredential(Idempotent::Applied(()))
    );
}

#[test]
fn a_change_by_another_caller_is_not_taken_for_the_own_one() {
    let mut facts = facts();
    facts.is_in_doubt = true;
    facts.conversation_mut().version = 2;
    facts.logged = vec![logged(
        11,
        EventType::ConversationUpdated,
        fixture::stamp(8),
    )];
    let outcome = rejected(update_conversation(2), &facts);
    assert!(matches!(outcome, Err(RepositoryError::Stale { .. })));
}
