//! Tests of the facts that each command asks for. All other tests of decisions check, too, that no
//! other fact makes a difference.

use super::*;
use crate::{
    CompletedTurn, Sweep, TurnEnding,
    commands::{
        CancelTurn, ClaimKey, ClaimOutcome, CreateAgent, CreateConversation, CreateCredential,
        DeleteAgent, DeleteConversation, DeleteNote, FailQueuedTurn, RevokeCredential, SaveUser,
        UpdateAgent, UpdateConversation, UpdateCredential, UserChange,
    },
};
use domain::Stamp;
use ports::{
    FirstMessages, ForkedMessages,
    write_store::{CredentialFacts, OpenTurnsOf, SweptConversation, WaitingTurn},
};

/// The facts of [`busy_facts`] and everything else that a command may ask for.
fn all_facts() -> Facts {
    let mut facts = busy_facts();
    let tenant = fixture::tenant();
    facts.heads.insert(fixture::tenant_named("other"), Seq(20));
    for number in 2..=3 {
        let other = fixture::agent(number);
        facts
            .agents
            .insert((tenant.clone(), other.id), other.version);
        facts.existing_agents.insert((tenant.clone(), other.id));
    }
    let mut idle = facts.conversation_mut().clone();
    idle.running = None;
    idle.waiting = 0;
    idle.first_waiting = None;
    let id = fixture::conversation_id(3);
    facts.conversations.insert((tenant.clone(), id), idle);
    let named = fixture::named(fixture::conversation(3, agent().id), "used");
    let name = (tenant.clone(), fixture::name_of(&named));
    facts.named.insert(name, named.id);
    facts.live_nodes.insert(fixture::node_id(2));
    facts.insert_journal(8, journal_after_a_loss());
    let (key, record) = record_of(&fixture::entry("used"));
    facts.idempotency.insert(key, record);
    for (conversation, turns) in [
        (None, vec![open_turn(8), open_turn(9)]),
        (
            Some(fixture::conversation_id(1)),
            vec![open_turn(8), open_turn(9)],
        ),
    ] {
        let agent = agent().id;
        let key = OpenTurnsOf {
            agent,
            conversation,
        };
        facts.open_turns.insert((tenant.clone(), key), turns);
    }
    for number in 1..=2 {
        let key = fixture::key(number);
        let stored = CredentialFacts {
            tenant: key.tenant.clone(),
            kind: key.kind,
            is_revoked: false,
        };
        facts.credentials.insert(key.id.clone(), stored);
        facts.whole_credentials.insert(key.id.clone(), key);
    }
    let user = domain::UserDraft::default().into_user("ada".to_owned(), fixture::at(1));
    facts.users.insert((tenant, "ada".to_owned()), user);
    facts.notes.insert(fixture::note_key());
    facts.swept = vec![SweptConversation {
        id: fixture::conversation_id(1),
        lost: Some(fixture::turn_id(8)),
        unanswered: None,
        waiting: vec![WaitingTurn {
            id: fixture::turn_id(9),
            is_expired: false,
        }],
    }];
    facts
}

fn stamp() -> Stamp {
    fixture::stamp(9)
}

/// Expects that a command asks for all facts that it uses, and is applied.
fn asks_enough<C: Command + Clone>(command: &C) -> Rows
where
    C::Outcome: Debug,
{
    carried_out(command, &all_facts()).0
}

#[test]
fn a_new_turn_asks_for_its_facts() {
    let idle = ConversationTarget::Existing {
        id: fixture::conversation_id(3),
        turn_count: 2,
    };
    let new = || fixture::named(fixture::conversation(4, agent().id), "new");
    for target in [idle, ConversationTarget::New(new())] {
        let begin = BeginTurn {
            idempotency: Some(fixture::entry("new")),
            ..begin_turn(1, target)
        };
        assert_eq!(asks_enough(&begin).turns.len(), 1);
        let completed_turn = CompletedTurn {
            begin,
            ..fixture::completed_turn(1, &agent(), existing(2))
        };
        assert_eq!(asks_enough(&completed_turn).turns.len(), 1);
    }
    let queued = begin_turn(1, existing(2));
    assert!(asks_enough(&queued).turns[0].queued_seq.is_some());
}

#[test]
fn the_end_of_a_turn_asks_for_its_facts() {
    let ending = TurnEnding::Completed(fixture::reply(8));
    let finish = fixture::finish(&begin_turn(8, existing(2)), ending);
    assert_eq!(asks_enough(&finish).starts.len(), 1);
    let cancel = CancelTurn {
        reasoning: None,
        tenant: fixture::tenant(),
        turn_id: fixture::turn_id(8),
        conversation_id: fixture::conversation_id(1),
        partial: None,
        node: Some(fixture::node_id(2)),
        stamp: stamp(),
    };
    let rows = asks_enough(&cancel);
    assert_eq!((rows.starts.len(), rows.ends[0].tool_calls.len()), (1, 2));
    let fail = FailQueuedTurn {
        tenant: fixture::tenant(),
        turn_id: fixture::turn_id(9),
        conversation_id: fixture::conversation_id(1),
        problem: fixture::lasting_problem(),
        time: stamp().time,
    };
    assert_eq!(asks_enough(&fail).ends.len(), 1);
    let sweep = Sweep {
        tenant: fixture::tenant(),
        node: Some(fixture::node_id(2)),
        max_wait: std::time::Duration::from_mins(10),
        now: fixture::at(7),
        limit: 10,
    };
    let rows = asks_enough(&sweep);
    assert_eq!((rows.ends.len(), rows.starts.len()), (1, 1));
    assert_eq!(rows.ends[0].tool_calls.len(), 2);
}

#[test]
fn a_change_of_an_agent_asks_for_its_facts() {
    let create = CreateAgent {
        tenant: fixture::tenant(),
        agent: fixture::agent(4),
        stamp: stamp(),
        idempotency: Some(fixture::entry("new")),
    };
    assert_eq!(asks_enough(&create).agents.len(), 1);
    let existing = CreateAgent {
        agent: fixture::agent(2),
        ..create
    };
    let outcome = rejected(&existing, &all_facts());
    assert!(matches!(outcome, Err(RepositoryError::Conflict { .. })));
    let update = UpdateAgent {
        tenant: fixture::tenant(),
        agent: Agent {
            version: 2,
            ..agent()
        },
        stamp: stamp(),
    };
    assert_eq!(asks_enough(&update).agent_updates.len(), 1);
    let delete = DeleteAgent {
        tenant: fixture::tenant(),
        id: agent().id,
        expected: Some(1),
        stamp: stamp(),
    };
    assert_eq!(asks_enough(&delete).ends.len(), 2);
}

#[test]
fn a_change_of_a_conversation_asks_for_its_facts() {
    let create = CreateConversation {
        tenant: fixture::tenant(),
        conversation: fixture::named(fixture::conversation(4, agent().id), "new"),
        first_messages: FirstMessages::Forked(ForkedMessages {
            from: fixture::conversation_id(3),
            turn_count: 2,
            to_seq: 3,
            of_staff: 0,
            counts: None,
        }),
        stamp: stamp(),
        idempotency: Some(fixture::entry("new")),
    };
    assert_eq!(asks_enough(&create).copies.len(), 1);
    let update = UpdateConversation {
        tenant: fixture::tenant(),
        conversation: domain::Conversation {
            version: 2,
            ..fixture::conversation(1, agent().id)
        },
        stamp: stamp(),
    };
    assert_eq!(asks_enough(&update).conversation_updates.len(), 1);
    let title = fixture::title_conversation(1, &fixture::conversation(1, agent().id));
    assert_eq!(asks_enough(&title).conversation_updates.len(), 1);
    let delete = DeleteConversation {
        tenant: fixture::tenant(),
        id: fixture::conversation_id(1),
        expected: Some(1),
        only_of: None,
        is_erasure: false,
        idle_since_before: None,
        stamp: stamp(),
    };
    assert_eq!(asks_enough(&delete).ends.len(), 2);
}

#[test]
fn a_change_of_a_credential_asks_for_its_facts() {
    let create = |number, key| CreateCredential {
        credential: fixture::key(number),
        idempotency: Some(fixture::entry(key)),
    };
    assert_eq!(asks_enough(&create(4, "new")).credentials.len(), 1);
    let outcome = rejected(&create(1, "new"), &all_facts());
    assert!(matches!(outcome, Err(RepositoryError::Conflict { .. })));
    let outcome = rejected(&create(4, "used"), &all_facts());
    assert!(matches!(outcome, Ok(ports::Idempotent::Replayed(_))));
    let revoke = RevokeCredential {
        tenant: fixture::tenant(),
        kind: fixture::key(1).kind,
        id: fixture::key(1).id,
        at: fixture::at(9),
    };
    assert_eq!(asks_enough(&revoke).revocations.len(), 1);
    let update = UpdateCredential {
        tenant: fixture::tenant(),
        kind: fixture::key(1).kind,
        id: fixture::key(1).id,
        reach: domain::AgentReach::ALL,
        patch: serde_json::json!({"name": "new"}),
    };
    assert_eq!(asks_enough(&update).credential_updates.len(), 1);
    let save = SaveUser {
        tenant: fixture::tenant(),
        user_id: "ada".to_owned(),
        change: UserChange::Patch(serde_json::json!({"name": "Ada"})),
        stamp: fixture::stamp(9),
    };
    assert_eq!(asks_enough(&save).users.len(), 1);
}

#[test]
fn the_deletion_of_a_note_asks_for_its_facts() {
    let delete = DeleteNote {
        note: fixture::note_key(),
        stamp: stamp(),
    };
    assert_eq!(asks_enough(&delete).deleted_notes, [fixture::note_key()]);
}

#[test]
fn a_claim_asks_for_its_facts() {
    let claim = |key| ClaimKey {
        tenant: fixture::tenant(),
        idempotency: fixture::entry(key),
        turn_id: fixture::turn_id(1),
        node: fixture::node_id(1),
    };
    assert_eq!(asks_enough(&claim("new")).idempotency.len(), 1);
    let outcome = rejected(&claim("used"), &all_facts());
    assert!(matches!(outcome, Ok(ClaimOutcome::Replayed(_))));
}

/// A second query costs a round trip under the lock of the tenant.
#[test]
fn a_new_conversation_of_a_missing_agent_is_rejected_after_one_query() {
    let target = ConversationTarget::New(fixture::conversation(4, agent().id));
    let (command, _caller) = queued(&begin_turn(1, target));
    let batch = batch([command], None);
    let none = Facts::default();
    assert!(batch.query(0, &none).is_some());
    assert_eq!(batch.query(1, &none), None);
}
