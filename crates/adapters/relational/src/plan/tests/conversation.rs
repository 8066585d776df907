//! Tests of conversations that begin with a name or with the messages of another one.

use domain::Conversation;
use ports::{BeginOutcome, FirstMessages, ForkedMessages};

use super::*;
use crate::{CreateConversation, MessageCopy};

fn named(number: u32) -> Conversation {
    fixture::named(fixture::conversation(number, agent().id), "support")
}

fn creation(conversation: Conversation, first_messages: FirstMessages) -> WriteOp {
    WriteOp::CreateConversation(Box::new(CreateConversation {
        tenant: fixture::tenant(),
        conversation,
        first_messages,
        stamp: fixture::stamp(1),
        idempotency: None,
    }))
}

/// A fork of conversation 1, in which `turn_count` turns have started, up to message 3.
fn fork(turn_count: i64) -> WriteOp {
    let first = FirstMessages::Forked(ForkedMessages {
        from: fixture::conversation_id(1),
        turn_count,
        to_seq: 3,
    });
    creation(fixture::conversation(2, agent().id), first)
}

/// The three ways in which conversation 2 can begin with a name.
fn first_uses() -> [WriteOp; 3] {
    let target = || ConversationTarget::New(named(2));
    let turn = fixture::completed_turn(1, &agent(), target());
    [
        creation(named(2), FirstMessages::None),
        WriteOp::Begin(Box::new(begin_turn(1, target()))),
        WriteOp::CompletedTurn(Box::new(turn)),
    ]
}

#[test]
fn a_used_name_makes_a_new_conversation_stale() {
    for op in first_uses() {
        let (rows, _) = carried_out(op.clone(), &facts());
        let created = &rows.conversations[0].conversation;
        assert_eq!(created.key, named(2).key);
        let mut facts = facts();
        let name = (fixture::tenant(), fixture::name_of(&named(2)));
        facts.named.insert(name, fixture::conversation_id(1));
        let outcome = rejected(op, &facts);
        assert!(
            matches!(outcome, Err(RepositoryError::Stale { .. })),
            "{outcome:?}"
        );
    }
}

#[test]
fn another_users_name_is_not_used() {
    let other = Conversation {
        user_id: None,
        ..named(1)
    };
    for op in first_uses() {
        let mut facts = facts();
        let name = (fixture::tenant(), fixture::name_of(&other));
        facts.named.insert(name, other.id);
        let (_, outcome) = carried_out(op, &facts);
        assert!(outcome.is_applied(), "{outcome:?}");
    }
}

#[test]
fn a_dead_node_is_reported_before_a_used_name() {
    let mut facts = facts();
    facts.live_nodes.clear();
    let name = (fixture::tenant(), fixture::name_of(&named(2)));
    facts.named.insert(name, fixture::conversation_id(1));
    let begin = begin_turn(1, ConversationTarget::New(named(2)));
    let outcome = rejected(WriteOp::Begin(Box::new(begin)), &facts).unwrap();
    assert_eq!(outcome, WriteOutcome::Begin(BeginOutcome::NodeDead));
}

#[test]
fn a_fork_copies_messages_of_an_unchanged_conversation() {
    let (rows, _) = carried_out(fork(2), &facts());
    assert_eq!(events(&rows), [(11, "conversation.created")]);
    let expected = MessageCopy {
        tenant: fixture::tenant(),
        from: fixture::conversation_id(1),
        to_seq: 3,
        into: fixture::conversation_id(2),
    };
    assert_eq!(rows.copies, [expected]);
    assert!(rows.messages.is_empty() && rows.advances.is_empty());
}

#[test]
fn a_fork_of_a_changed_or_unknown_conversation_is_stale() {
    let mut unknown = facts();
    unknown.conversations.clear();
    for (op, facts) in [(fork(1), facts()), (fork(3), facts()), (fork(2), unknown)] {
        let outcome = rejected(op, &facts);
        assert!(
            matches!(outcome, Err(RepositoryError::Stale { .. })),
            "{outcome:?}"
        );
    }
}
