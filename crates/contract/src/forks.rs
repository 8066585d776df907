//! `CreateConversation`: conversations that begin with the messages of another one.

use domain::{Conversation, EventType, ForkOrigin, Message, conversation::excerpt};
use ports::{FirstMessages, ForkedMessages, RepositoryError};
use writes::Committed;

use crate::{
    Store, fixture, log, lookup, purging,
    results::{IdempotentExt as _, ResultExt as _, assert_stale},
    setup,
};

/// Forks `original` as a numbered conversation, up to the last of `messages`.
pub(crate) async fn fork(
    storage: &Store,
    number: u32,
    original: &Conversation,
    messages: &[Message],
    turn_count: i64,
) -> (Conversation, Result<Committed, RepositoryError>) {
    let last = messages.last().expect("a message");
    let conversation = Conversation {
        message_count: i64::try_from(messages.len()).expect("few messages"),
        excerpt: Some(excerpt(&last.content, &last.files)),
        forked_from: Some(ForkOrigin {
            conversation_id: original.id,
            message_id: Some(last.id),
            unknown: fixture::unknown_members(),
        }),
        last_message_at: Some(last.created_at),
        ..fixture::conversation(number, original.agent_id)
    };
    let first = FirstMessages::Forked(ForkedMessages {
        from: original.id,
        turn_count,
        to_seq: last.seq,
        of_staff: i64::try_from(messages.iter().filter(|it| it.is_of_staff()).count())
            .expect("few messages"),
        counts: None,
    });
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(50));
    let conversations = &storage.conversations;
    let result = conversations.insert(&tenant, &conversation, &first, &stamp, None);
    match result.await {
        Err(error) => (conversation, Err(error)),
        applied => (
            conversation,
            Ok(applied.applied().expect("the agent exists")),
        ),
    }
}

/// The messages as a fork contains them.
fn copies(messages: &[Message], fork: &Conversation) -> Vec<Message> {
    let copied = (1..).zip(messages).map(|(seq, message)| Message {
        conversation_id: fork.id,
        seq,
        ..message.clone()
    });
    copied.collect()
}

/// A fork has copies of the messages that are not superseded, numbered from 1. They keep their ids,
/// turns and times. The original does not change.
pub async fn a_fork_copies_the_visible_messages(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 3).await;
    let begin = fixture::begin_turn(10, &agent, fixture::existing(&original, 3));
    let edit = fixture::superseding(begin, 3, 2);
    setup::start_turn(storage, &edit).await;
    setup::complete_turn(storage, &edit, 10).await;
    let messages = lookup::messages(storage, original.id).await;
    let seqs: Vec<_> = messages.iter().map(|message| message.seq).collect();
    assert_eq!(seqs, [1, 2, 7, 8]);
    let (created, committed) = fork(storage, 2, &original, &messages[..3], 4).await;
    let types = log::types_of(storage, committed.success()).await;
    assert_eq!(types, [EventType::ConversationCreated]);
    let copied = lookup::all_messages(storage, created.id).await;
    assert_eq!(copied, copies(&messages[..3], &created));
    let stored = lookup::conversation(storage, created.id).await;
    assert_eq!(stored, Some(created.clone()));
    let context = lookup::state(storage, created.id).await;
    assert_eq!((context.last_message_seq, context.turn_count), (3, 0));
    assert_eq!(lookup::messages(storage, original.id).await, messages);
}

/// The turns of a fork continue after the copies.
pub async fn a_fork_continues_after_the_copied_messages(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 2).await;
    let messages = lookup::messages(storage, original.id).await;
    let (created, committed) = fork(storage, 2, &original, &messages[..3], 2).await;
    committed.success();
    let begin = fixture::begin_turn(10, &agent, fixture::existing(&created, 0));
    let started = setup::start_turn(storage, &begin).await.messages;
    assert_eq!((started.message.seq, started.turn_number), (4, 0));
    setup::complete_turn(storage, &begin, 10).await;
    let begin = fixture::begin_turn(11, &agent, fixture::existing(&created, 1));
    setup::start_turn(storage, &fixture::superseding(begin, 2, 1)).await;
    assert_eq!(lookup::message_seqs(storage, created.id).await, [1, 6]);
    assert_eq!(lookup::messages(storage, original.id).await, messages);
}

/// A fork is `Stale` if a turn of the original has started since, and if the original does not exist.
pub async fn a_fork_of_a_changed_conversation_is_stale(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 2).await;
    let messages = lookup::messages(storage, original.id).await;
    let target = fixture::existing(&original, 2);
    let open = fixture::begin_turn(10, &agent, target);
    setup::start_turn(storage, &open).await;
    let head = log::head(storage, &fixture::tenant()).await;
    let (created, committed) = fork(storage, 2, &original, &messages, 2).await;
    assert_stale(&committed);
    let unknown = fixture::conversation(404, agent.id);
    let (_, committed) = fork(storage, 2, &unknown, &messages, 0).await;
    assert_stale(&committed);
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
    assert_eq!(lookup::conversation(storage, created.id).await, None);
    // The end of a turn adds a message behind the copied ones only.
    setup::complete_turn(storage, &open, 10).await;
    let (created, committed) = fork(storage, 2, &original, &messages, 3).await;
    committed.success();
    assert_eq!(
        lookup::message_seqs(storage, created.id).await,
        [1, 2, 3, 4]
    );
    setup::delete_conversation(storage, &created).await;
    setup::delete_conversation(storage, &original).await;
    let (_, committed) = fork(storage, 2, &original, &messages, 3).await;
    assert_stale(&committed);
}

/// A fork keeps its messages when the original is deleted and purged.
pub async fn a_fork_outlives_the_original(storage: &Store) {
    let (_, original) = setup::chat_with_turns(storage, 2).await;
    let messages = lookup::messages(storage, original.id).await;
    let (created, committed) = fork(storage, 2, &original, &messages, 2).await;
    committed.success();
    setup::delete_conversation(storage, &original).await;
    let outdated = purging::deleted_before(fixture::at(1_000_000));
    purging::purge_all(storage, 100, outdated).await;
    let stored = lookup::messages(storage, created.id).await;
    let copied = copies(&messages, &created).into_iter();
    let expected: Vec<_> = copied.map(lookup::without_turn).collect();
    assert_eq!(stored, expected);
}

/// A greeting is copied like any other message, and remains a message without a turn.
pub async fn a_fork_copies_the_greeting(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let (original, greeting) = fixture::greeted(fixture::conversation(1, agent.id), "Welcome!");
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(1));
    let first = FirstMessages::Greeting(greeting.clone());
    let conversations = &storage.conversations;
    let result = conversations.insert(&tenant, &original, &first, &stamp, None);
    result.await.success();
    let (created, committed) =
        fork(storage, 2, &original, std::slice::from_ref(&greeting), 0).await;
    committed.success();
    let copied = lookup::messages(storage, created.id).await;
    assert_eq!(copied, copies(&[greeting], &created));
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&created, 0));
    setup::record_turn(storage, turn).await;
    assert_eq!(lookup::message_seqs(storage, created.id).await, [1, 2, 3]);
}
