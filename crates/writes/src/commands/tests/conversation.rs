//! Tests of conversations that begin with a name or with the messages of another one.

use domain::Conversation;
use ports::{FirstMessages, ForkedMessages, write_store::MessageCopy};

use super::*;
use crate::{BeginOutcome, CompletedTurn, commands::CreateConversation};

fn named(number: u32) -> Conversation {
    fixture::named(fixture::conversation(number, agent().id), "support")
}

fn creation(conversation: Conversation, first_messages: FirstMessages) -> CreateConversation {
    CreateConversation {
        tenant: fixture::tenant(),
        conversation,
        first_messages,
        stamp: fixture::stamp(1),
        idempotency: None,
    }
}

/// A fork of conversation 1, in which `turn_count` turns have started, up to message 3.
fn fork(turn_count: i64) -> CreateConversation {
    let first = FirstMessages::Forked(ForkedMessages {
        from: fixture::conversation_id(1),
        turn_count,
        to_seq: 3,
        of_staff: 0,
        counts: None,
    });
    creation(fixture::conversation(2, agent().id), first)
}

/// The three ways in which conversation 2 can begin with a name.
fn first_uses() -> (CreateConversation, BeginTurn, CompletedTurn) {
    let target = || ConversationTarget::New(named(2));
    let turn = fixture::completed_turn(1, &agent(), target());
    let created = creation(named(2), FirstMessages::None);
    (created, begin_turn(1, target()), turn)
}

/// Returns the rows of a command that begins conversation 2.
fn created<C: Command + Clone>(command: &C, facts: &Facts) -> Rows
where
    C::Outcome: Debug,
{
    let (rows, _) = carried_out(command, facts);
    let created = &rows.conversations[0].conversation;
    assert_eq!(created.key, named(2).key);
    rows
}

#[test]
fn a_used_name_makes_a_new_conversation_stale() {
    let (creation, begin, completed_turn) = first_uses();
    created(&creation, &facts());
    created(&begin, &facts());
    created(&completed_turn, &facts());
    let mut facts = facts();
    let name = (fixture::tenant(), fixture::name_of(&named(2)));
    facts.named.insert(name, fixture::conversation_id(1));
    assert_stale(&creation, &facts);
    assert_stale(&begin, &facts);
    assert_stale(&completed_turn, &facts);
}

#[test]
fn another_users_name_is_not_used() {
    let other = Conversation {
        user_id: None,
        ..named(1)
    };
    let mut facts = facts();
    let name = (fixture::tenant(), fixture::name_of(&other));
    facts.named.insert(name, other.id);
    let (creation, begin, completed_turn) = first_uses();
    created(&creation, &facts);
    created(&begin, &facts);
    created(&completed_turn, &facts);
}

#[test]
fn a_dead_node_is_reported_before_a_used_name() {
    let mut facts = facts();
    facts.live_nodes.clear();
    let name = (fixture::tenant(), fixture::name_of(&named(2)));
    facts.named.insert(name, fixture::conversation_id(1));
    let begin = begin_turn(1, ConversationTarget::New(named(2)));
    let outcome = rejected(&begin, &facts).unwrap();
    assert_eq!(outcome, BeginOutcome::NodeDead);
}

#[test]
fn a_fork_copies_messages_of_an_unchanged_conversation() {
    let (rows, _) = carried_out(&fork(2), &facts());
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
    for (fork, facts) in [(fork(1), facts()), (fork(3), facts()), (fork(2), unknown)] {
        assert_stale(&fork, &facts);
    }
}
