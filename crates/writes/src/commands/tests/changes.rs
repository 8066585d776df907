//! Tests of changes of agents, conversations and credentials.

use domain::{AgentReach, Credential, EventType, Stamp};
use ports::{
    Idempotent,
    write_store::{CredentialFacts, EventInDoubt, OpenTurnsOf, StateChange},
};
use serde_json::json;

use super::*;
use crate::{
    DeleteOutcome,
    commands::{
        CreateCredential, DeleteConversation, RevokeCredential, UpdateAgent, UpdateConversation,
        UpdateCredential,
    },
};

fn update_agent(version: i64) -> UpdateAgent {
    UpdateAgent {
        tenant: fixture::tenant(),
        agent: Agent { version, ..agent() },
        stamp: fixture::stamp(9),
    }
}

fn update_conversation(version: i64) -> UpdateConversation {
    let conversation = fixture::conversation(1, agent().id);
    UpdateConversation {
        tenant: fixture::tenant(),
        conversation: domain::Conversation {
            version,
            ..conversation
        },
        stamp: fixture::stamp(9),
    }
}

fn delete_conversation(expected: Option<i64>) -> DeleteConversation {
    DeleteConversation {
        tenant: fixture::tenant(),
        id: fixture::conversation_id(1),
        expected,
        only_of: None,
        is_erasure: false,
        idle_since_before: None,
        stamp: fixture::stamp(9),
    }
}

fn create_key() -> CreateCredential {
    CreateCredential {
        credential: fixture::key(1),
        idempotency: Some(fixture::entry("once")),
    }
}

fn revoke_key() -> RevokeCredential {
    RevokeCredential {
        tenant: fixture::tenant(),
        kind: fixture::key(1).kind,
        id: fixture::key(1).id,
        at: fixture::at(9),
    }
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

#[test]
fn an_update_of_the_next_version_is_logged_once() {
    let (rows, outcome) = carried_out(&update_agent(2), &facts());
    assert_eq!(outcome, Some(committed(11, 11)));
    assert_eq!(events(&rows), [(11, "agent.updated")]);
    assert_eq!(rows.agent_updates[0].agent.version, 2);
    assert_eq!(rows.agent_updates[0].actor, fixture::stamp(9).actor);

    let (rows, outcome) = carried_out(&update_conversation(2), &facts());
    let (at, stored) = outcome.unwrap();
    assert_eq!((at, stored.message_count), (committed(11, 11), 4));
    assert_eq!(events(&rows), [(11, "conversation.updated")]);
}

#[test]
fn a_move_is_logged_with_the_user_before() {
    let to = |user: Option<&str>| {
        let mut update = update_conversation(2);
        update.conversation.user_id = user.map(ToOwned::to_owned);
        update
    };
    let moved = |update| carried_out(&update, &facts()).0.events[0].data.clone();
    let expected = serde_json::json!({"moved": {"from": "ada", "version": 1}});
    assert_eq!(moved(to(Some("bob"))), Some(expected.clone()));
    assert_eq!(moved(to(None)), Some(expected));
    assert_eq!(moved(to(Some("ada"))), None);
    let mut of_nobody = facts();
    of_nobody.conversation_mut().user_id = None;
    let (rows, _) = carried_out(&to(Some("ada")), &of_nobody);
    let expected = serde_json::json!({"moved": {"from": null, "version": 1}});
    assert_eq!(rows.events[0].data, Some(expected));
    assert_eq!(rows.events[0].user_id.as_deref(), Some("ada"));
}

#[test]
fn a_move_to_a_user_with_the_same_key_is_rejected() {
    let mut update = update_conversation(2);
    update.conversation = fixture::named(update.conversation, "support");
    let with_name = |conversation: &domain::Conversation| {
        let mut facts = facts();
        let name = (fixture::tenant(), fixture::name_of(conversation));
        facts.named.insert(name, fixture::conversation_id(2));
        facts
    };
    update.conversation.user_id = Some("bob".to_owned());
    let outcome = rejected(&update, &with_name(&update.conversation));
    assert!(matches!(outcome, Err(RepositoryError::Conflict { .. })));
    let elsewhere = fixture::named(fixture::conversation(2, agent().id), "support");
    let (rows, _) = carried_out(&update, &with_name(&elsewhere));
    assert_eq!(rows.conversation_updates.len(), 1);
    // Its own name is not in the way of other changes.
    update.conversation.user_id = Some("ada".to_owned());
    let (rows, _) = carried_out(&update, &with_name(&elsewhere));
    assert_eq!(rows.conversation_updates.len(), 1);
}

#[test]
fn changes_of_another_version_are_stale() {
    assert_stale(&update_agent(3), &facts());
    assert_stale(&update_conversation(3), &facts());
    assert_stale(&delete_conversation(Some(2)), &facts());
}

#[test]
fn a_change_of_a_missing_entity_writes_nothing() {
    let facts = Facts::default();
    assert_eq!(rejected(&update_agent(2), &facts).unwrap(), None);
    assert_eq!(rejected(&update_conversation(2), &facts).unwrap(), None);
    let deleted = rejected(&delete_conversation(None), &facts).unwrap();
    assert_eq!(deleted, DeleteOutcome::NotFound);
    let of = |user: &str| DeleteConversation {
        only_of: Some(user.to_owned()),
        is_erasure: false,
        idle_since_before: None,
        ..delete_conversation(None)
    };
    let deleted = rejected(&of("bob"), &self::facts()).unwrap();
    assert_eq!(deleted, DeleteOutcome::NotFound);
    let (rows, _) = carried_out(&of("ada"), &self::facts());
    assert_eq!(rows.conversation_deletions.len(), 1);
    assert!(!rejected(&revoke_key(), &facts).unwrap());
}

#[test]
fn a_deletion_cancels_the_open_turns_first() {
    let mut facts = busy_facts();
    let turns = OpenTurnsOf {
        agent: agent().id,
        conversation: Some(fixture::conversation_id(1)),
    };
    let open = vec![open_turn(8), open_turn(9)];
    facts.open_turns.insert((fixture::tenant(), turns), open);
    let (rows, outcome) = carried_out(&delete_conversation(Some(1)), &facts);
    assert_eq!(outcome, DeleteOutcome::Deleted(committed(11, 13)));
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
    let (rows, outcome) = carried_out(&create_key(), &facts);
    assert_eq!(outcome, Idempotent::Applied(()));
    let expected = StateChange {
        raises_access_version: false,
        records_key: true,
    };
    assert_eq!(rows.state, expected);
    assert_eq!((rows.credentials.len(), rows.idempotency.len()), (1, 1));

    insert_key(&mut facts, false);
    let again = rejected(&create_key(), &facts);
    assert!(matches!(again, Err(RepositoryError::Conflict { .. })));
    facts
        .idempotency
        .extend([record_of(&fixture::entry("once"))]);
    let again = rejected(&create_key(), &facts).unwrap();
    assert!(matches!(again, Idempotent::Replayed(_)));
}

#[test]
fn a_revocation_raises_the_access_version_once() {
    let mut facts = facts();
    insert_key(&mut facts, false);
    let (rows, outcome) = carried_out(&revoke_key(), &facts);
    assert!(outcome);
    assert!(rows.state.raises_access_version && !rows.state.records_key);
    insert_key(&mut facts, true);
    assert!(repeated(&revoke_key(), &facts));
}

fn rename_key(name: &str, reach: AgentReach) -> UpdateCredential {
    UpdateCredential {
        tenant: fixture::tenant(),
        kind: fixture::key(1).kind,
        id: fixture::key(1).id,
        reach,
        patch: json!({"name": name}),
    }
}

#[test]
fn a_change_of_a_key_raises_the_access_version_unless_it_has_no_effect() {
    let mut facts = facts();
    let key = fixture::key(1);
    facts.whole_credentials.insert(key.id.clone(), key.clone());
    let renamed = Credential {
        name: "new".to_owned(),
        ..key.clone()
    };
    let (rows, outcome) = carried_out(&rename_key("new", AgentReach::ALL), &facts);
    assert_eq!(outcome, Some(renamed.clone()));
    assert_eq!(rows.credential_updates, [renamed]);
    assert!(rows.state.raises_access_version);
    let unchanged = rename_key(&key.name, AgentReach::ALL);
    assert_eq!(repeated(&unchanged, &facts), Some(key));
}

#[test]
fn a_key_that_is_revoked_or_out_of_reach_is_not_changed() {
    let mut facts = facts();
    let key = fixture::key(1);
    facts.whole_credentials.insert(key.id.clone(), key.clone());
    let confined = AgentReach::only([agent().id]);
    let outcome = rejected(&rename_key("new", confined.clone()), &facts);
    assert_eq!(outcome.unwrap(), None);
    let revoked = Credential {
        revoked_at: Some(fixture::at(9)),
        agents: confined,
        ..key
    };
    facts.whole_credentials.insert(revoked.id.clone(), revoked);
    let outcome = rejected(&rename_key("new", AgentReach::ALL), &facts);
    assert_eq!(outcome.unwrap(), None);
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
    let updated = stored(&update_agent(2), &facts);
    assert_eq!(updated, Some(committed(11, 11)));
    let (updated, _) = stored(&update_conversation(2), &facts).unwrap();
    assert_eq!(updated, committed(12, 12));
    let deleted = stored(&delete_conversation(Some(1)), &facts);
    assert_eq!(deleted, DeleteOutcome::Deleted(committed(14, 15)));
    assert_eq!(stored(&create_key(), &facts), Idempotent::Applied(()));
}

#[test]
fn a_change_by_another_caller_is_not_taken_for_the_own_one() {
    let mut facts = facts();
    facts.conversation_mut().version = 2;
    facts.logged = vec![logged(
        11,
        EventType::ConversationUpdated,
        fixture::stamp(8),
    )];
    let (rows, outcome) = not_stored(&update_conversation(2), &facts);
    assert_eq!(rows, Rows::default());
    assert!(matches!(outcome, Err(RepositoryError::Stale { .. })));
}

#[test]
fn a_conversation_that_became_active_is_not_deleted_as_idle() {
    let idle_before = |before: i64| DeleteConversation {
        idle_since_before: Some(fixture::at(before)),
        ..delete_conversation(None)
    };
    let mut facts = facts();
    let conversation = facts.conversation_mut();
    conversation.running = None;
    conversation.waiting = 0;
    conversation.last_message_at = Some(fixture::at(5));
    let outcome = rejected(&idle_before(5), &facts).unwrap();
    assert_eq!(outcome, DeleteOutcome::NotFound);
    let (rows, _) = carried_out(&idle_before(6), &facts);
    assert_eq!(rows.conversation_deletions.len(), 1);
    facts.conversation_mut().waiting = 1;
    let outcome = rejected(&idle_before(6), &facts).unwrap();
    assert_eq!(outcome, DeleteOutcome::NotFound);
}
