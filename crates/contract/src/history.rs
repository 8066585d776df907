//! `ConversationRepository::history`: the history that an engine receives.

use domain::{Conversation, HistoryLimits, HistoryMessage, Message};
use ports::{FirstMessages, HistoryQuery};
use writes::TurnEnding;

use crate::{Store, fixture, results::ResultExt as _, setup};

async fn history(
    storage: &Store,
    conversation: &Conversation,
    before: i64,
    max_messages: Option<u32>,
    max_characters: Option<u32>,
) -> Vec<HistoryMessage> {
    let query = HistoryQuery {
        before,
        limits: HistoryLimits {
            max_messages,
            max_characters,
            ..HistoryLimits::default()
        },
    };
    let tenant = fixture::tenant();
    let result = storage
        .conversations
        .history(&tenant, conversation.id, &query)
        .await;
    result.success()
}

/// Converts messages to their form in a history.
fn history_of(messages: &[Message]) -> Vec<HistoryMessage> {
    let converted = |message: &Message| {
        HistoryMessage::new(message.seq, message.role, message.content.as_str())
    };
    messages.iter().map(converted).collect()
}

async fn positions(
    storage: &Store,
    conversation: &Conversation,
    before: i64,
    max_messages: u32,
    max_characters: u32,
) -> Vec<i64> {
    let (messages, characters) = (Some(max_messages), Some(max_characters));
    let shown = history(storage, conversation, before, messages, characters).await;
    shown.iter().map(|message| message.seq).collect()
}

/// Stores a conversation of completed turns with these messages and replies.
async fn conversation_of(storage: &Store, turns: &[(&str, &str)]) -> Conversation {
    let (agent, conversation) = setup::chat(storage).await;
    for (number, (message, reply)) in (0..).zip(turns) {
        let target = fixture::existing(&conversation, i64::from(number));
        let mut turn = fixture::completed_turn(number, &agent, target);
        (*message).clone_into(&mut turn.begin.input);
        (*reply).clone_into(&mut turn.reply.content);
        setup::record_turn(storage, turn).await;
    }
    conversation
}

/// The newest messages, oldest first, equal to those of `messages`.
pub async fn history_has_the_newest_messages_oldest_first(storage: &Store) {
    let conversation = conversation_of(storage, &[("a", "b"), ("c", "d"), ("e", "f")]).await;
    let all = history_of(&crate::lookup::messages(storage, conversation.id).await);
    assert_eq!(
        history(storage, &conversation, 7, Some(4), None).await,
        all[2..]
    );
    assert_eq!(history(storage, &conversation, 7, Some(6), None).await, all);
    assert_eq!(
        history(storage, &conversation, i64::MAX, Some(500), None).await,
        all
    );
}

/// The history has only messages with a smaller `seq`.
pub async fn history_has_only_earlier_messages(storage: &Store) {
    let conversation = conversation_of(storage, &[("a", "b"), ("c", "d"), ("e", "f")]).await;
    assert_eq!(
        positions(storage, &conversation, 5, 40, 48_000).await,
        [1, 2, 3, 4]
    );
    assert_eq!(
        positions(storage, &conversation, 5, 3, 48_000).await,
        [2, 3, 4]
    );
    assert!(
        positions(storage, &conversation, 1, 40, 48_000)
            .await
            .is_empty()
    );
}

/// Limits of zero give an empty history; absent limits have their defaults.
pub async fn history_limits_can_be_zero_or_absent(storage: &Store) {
    let conversation = conversation_of(storage, &[("a", "b"); 21]).await;
    assert!(
        positions(storage, &conversation, 99, 0, 48_000)
            .await
            .is_empty()
    );
    assert!(
        positions(storage, &conversation, 99, 40, 0)
            .await
            .is_empty()
    );
    let shown = history(storage, &conversation, 99, None, None).await;
    let positions: Vec<_> = shown.iter().map(|message| message.seq).collect();
    assert_eq!(positions, (3..=42).collect::<Vec<_>>());
}

/// Only whole messages are returned, counted in characters, not in bytes.
pub async fn history_counts_characters_of_whole_messages(storage: &Store) {
    let conversation = conversation_of(storage, &[("🦊🦊🦊", "ééé"), ("e\u{301}x", "אבג")]).await;
    for (characters, expected) in [
        (12, vec![1, 2, 3, 4]),
        (11, vec![2, 3, 4]),
        (9, vec![2, 3, 4]),
        (8, vec![3, 4]),
        (6, vec![3, 4]),
        (5, vec![4]),
        (3, vec![4]),
        (2, vec![]),
    ] {
        let shown = positions(storage, &conversation, 99, 40, characters).await;
        assert_eq!(shown, expected, "in {characters} characters");
    }
}

/// Both limits apply, whichever is reached first.
pub async fn history_applies_both_limits(storage: &Store) {
    let conversation = conversation_of(storage, &[("aaaa", "bbbb"), ("cccc", "dddd")]).await;
    assert_eq!(positions(storage, &conversation, 99, 1, 48_000).await, [4]);
    assert_eq!(positions(storage, &conversation, 99, 40, 8).await, [3, 4]);
    assert_eq!(
        positions(storage, &conversation, 99, 3, 16).await,
        [2, 3, 4]
    );
}

/// The history has no gap: a message that does not fit hides all earlier ones.
pub async fn history_ends_at_the_first_message_that_does_not_fit(storage: &Store) {
    let conversation = conversation_of(storage, &[("a", "bbbbbbbbbb"), ("c", "d")]).await;
    assert_eq!(positions(storage, &conversation, 99, 40, 5).await, [3, 4]);
    assert!(positions(storage, &conversation, 3, 40, 5).await.is_empty());
}

/// Messages of failed turns are omitted and do not count; those of cancelled turns are included.
pub async fn history_omits_messages_of_failed_turns(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = |number, count| {
        fixture::begin_turn(number, &agent, fixture::existing(&conversation, count))
    };
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(storage, turn).await;
    for (number, problem) in [
        (2, fixture::lasting_problem()),
        (3, fixture::retryable_problem()),
    ] {
        let failing = begin(number, i64::from(number) - 1);
        setup::start_turn(storage, &failing).await;
        setup::finish_turn(
            storage,
            fixture::finish(&failing, TurnEnding::failed(problem)),
        )
        .await;
    }
    let cancelled = begin(4, 3);
    setup::start_turn(storage, &cancelled).await;
    setup::cancel_turn(storage, &cancelled, None).await;
    let completed = begin(5, 4);
    setup::start_turn(storage, &completed).await;
    let ending = TurnEnding::Completed(fixture::reply(5));
    setup::finish_turn(storage, fixture::finish(&completed, ending)).await;
    assert_eq!(
        positions(storage, &conversation, 99, 40, 48_000).await,
        [1, 2, 5, 6, 7]
    );
    assert_eq!(
        positions(storage, &conversation, 6, 2, 48_000).await,
        [2, 5]
    );
    let all = crate::lookup::messages(storage, conversation.id).await;
    assert_eq!(all.len(), 7, "they stay in the conversation");
}

/// Superseded messages are not part of the history.
pub async fn history_omits_superseded_messages(storage: &Store) {
    let (agent, conversation) = setup::chat_with_turns(storage, 3).await;
    let begin = fixture::begin_turn(10, &agent, fixture::existing(&conversation, 3));
    let edit = fixture::superseding(begin, 3, 2);
    setup::start_turn(storage, &edit).await;
    assert_eq!(
        positions(storage, &conversation, 7, 40, 48_000).await,
        [1, 2]
    );
    setup::complete_turn(storage, &edit, 10).await;
    assert_eq!(
        positions(storage, &conversation, 99, 40, 48_000).await,
        [1, 2, 7, 8]
    );
    assert_eq!(
        positions(storage, &conversation, 8, 2, 48_000).await,
        [2, 7]
    );
}

/// The message of a failed turn is included once another turn answers it.
pub async fn history_includes_messages_that_are_answered_again(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = |number, turn_count| writes::BeginTurn {
        idempotency: Some(fixture::entry("k")),
        ..fixture::begin_turn(number, &agent, fixture::existing(&conversation, turn_count))
    };
    let (failed, retry) = (begin(1, 0), begin(2, 1));
    setup::start_turn(storage, &failed).await;
    setup::fail_turn(storage, &failed).await;
    let before = positions(storage, &conversation, 99, 40, 48_000).await;
    assert!(before.is_empty(), "{before:?}");
    setup::start_turn(storage, &retry).await;
    setup::complete_turn(storage, &retry, 2).await;
    assert_eq!(
        positions(storage, &conversation, 99, 40, 48_000).await,
        [1, 2]
    );
}

/// A greeting is included as a message of the agent.
pub async fn history_includes_the_greeting(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let (conversation, greeting) = fixture::greeted(fixture::conversation(1, agent.id), "Welcome!");
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(1));
    let conversations = &storage.conversations;
    let first = FirstMessages::Greeting(greeting.clone());
    let result = conversations.insert(&tenant, &conversation, &first, &stamp, None);
    result.await.success();
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(storage, turn).await;
    let shown = history(storage, &conversation, 3, None, None).await;
    assert_eq!(shown[..1], history_of(&[greeting]));
    assert_eq!(shown.len(), 2);
}
