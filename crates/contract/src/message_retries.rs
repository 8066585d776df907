//! Turns that repeat a failed one with its idempotency key, and answer its message.

use domain::{EventData, Fingerprint, TurnId, TurnStatus};
use writes::{BeginTurn, CompletedTurn, ConversationTarget, RecordTurnOutcome, TurnMessages};

use crate::{Store, fixture, log, lookup, results::ResultExt as _, setup};

/// A turn with the key `k` in conversation 1, in which `turn_count` turns have started.
fn with_key(number: u32, turn_count: i64) -> BeginTurn {
    let agent = fixture::agent(1);
    let conversation = fixture::conversation(1, agent.id);
    let target = fixture::existing(&conversation, turn_count);
    BeginTurn {
        idempotency: Some(fixture::entry("k")),
        ..fixture::begin_turn(number, &agent, target)
    }
}

/// Stores a chat with a completed turn, then fails turn 2, which has released its key: message 3 is
/// the newest one.
async fn failed_turn(storage: &Store) -> BeginTurn {
    setup::chat_with_turns(storage, 1).await;
    let failed = with_key(2, 1);
    setup::start_turn(storage, &failed).await;
    setup::fail_turn(storage, &failed).await;
    failed
}

/// Asserts that the turn has stored its own message at this position, and repeats no other.
fn assert_new_message(messages: &TurnMessages, begin: &BeginTurn, seq: i64) {
    assert_own_message(messages, begin, seq, None);
}

/// Asserts that the turn has stored its own message at this position, and repeats a failed one.
fn assert_own_message(
    messages: &TurnMessages,
    begin: &BeginTurn,
    seq: i64,
    retry_of: Option<TurnId>,
) {
    assert_eq!(
        (messages.message.id, messages.message.seq),
        (begin.message_id, seq)
    );
    assert_eq!((messages.reply_seq, messages.retry_of), (seq + 1, retry_of));
}

/// A retry stores no message: it answers the message of the failed turn, which then belongs to the
/// retry.
pub async fn a_retry_answers_the_message_of_the_failed_turn(storage: &Store) {
    let failed = failed_turn(storage).await;
    let retry = with_key(3, 2);
    let conversation = retry.target.id();
    let started = setup::start_turn(storage, &retry).await;
    let messages = started.messages;
    assert_eq!(
        (messages.message.id, messages.message.seq),
        (failed.message_id, 3)
    );
    assert_eq!((messages.reply_seq, messages.turn_number), (4, 2));
    assert_eq!(messages.retry_of, Some(failed.turn_id));
    match log::events_of(storage, started.committed)
        .await
        .remove(0)
        .data
    {
        EventData::Turn { turn, message, .. } => {
            assert_eq!((turn.retry_of, message), (Some(failed.turn_id), None));
        }
        other => panic!("not a turn: {other:?}"),
    }
    let found = lookup::turn_with_owner(storage, retry.turn_id).await;
    let found = found.expect("the turn exists");
    assert_eq!(found.message_id, failed.message_id);
    assert_eq!(found.turn.retry_of, Some(failed.turn_id));
    let messages = lookup::messages(storage, conversation).await;
    assert_eq!(messages.len(), 3);
    assert_eq!(
        (messages[2].id, messages[2].turn_id),
        (failed.message_id, Some(retry.turn_id))
    );
    assert_eq!(messages[2].turn_status, Some(TurnStatus::InProgress));
    assert_eq!(messages[2].error, None);
    let stored = lookup::conversation(storage, conversation).await;
    assert_eq!(stored.map(|stored| stored.message_count), Some(3));
    setup::complete_turn(storage, &retry, 3).await;
    assert_eq!(
        lookup::message_seqs(storage, conversation).await,
        [1, 2, 3, 4]
    );
}

/// The same for a completed turn.
pub async fn a_completed_retry_answers_the_message_of_the_failed_turn(storage: &Store) {
    let failed = failed_turn(storage).await;
    let begin = with_key(3, 2);
    let turn = CompletedTurn {
        begin: begin.clone(),
        ..fixture::completed_turn(3, &fixture::agent(1), begin.target.clone())
    };
    let outcome = storage.turns.record_completed_turn(turn).await.success();
    let RecordTurnOutcome::Recorded { messages, .. } = outcome else {
        panic!("not recorded: {outcome:?}");
    };
    assert_eq!(
        (messages.message.id, messages.message.seq),
        (failed.message_id, 3)
    );
    assert_eq!(
        (messages.reply_seq, messages.retry_of),
        (4, Some(failed.turn_id))
    );
    let messages = lookup::messages(storage, begin.target.id()).await;
    assert_eq!(messages.len(), 4);
    assert_eq!(messages[2].turn_id, Some(begin.turn_id));
    assert_eq!(messages[2].turn_status, Some(TurnStatus::Completed));
}

/// A retry that fails can be repeated, as often as necessary.
pub async fn a_failed_retry_can_be_repeated(storage: &Store) {
    let failed = failed_turn(storage).await;
    let mut previous = failed.turn_id;
    for number in 3..=5 {
        let retry = with_key(number, i64::from(number) - 1);
        let messages = setup::start_turn(storage, &retry).await.messages;
        assert_eq!(
            (messages.message.id, messages.message.seq),
            (failed.message_id, 3)
        );
        assert_eq!(messages.retry_of, Some(previous));
        setup::fail_turn(storage, &retry).await;
        previous = retry.turn_id;
    }
    assert_eq!(
        lookup::message_seqs(storage, failed.target.id()).await,
        [1, 2, 3]
    );
}

/// A retry behind another message stores a new one, and repeats the failed turn all the same.
pub async fn a_retry_behind_another_message_stores_a_new_one(storage: &Store) {
    let failed = failed_turn(storage).await;
    let other = BeginTurn {
        idempotency: None,
        ..with_key(3, 2)
    };
    setup::start_turn(storage, &other).await;
    setup::cancel_turn(storage, &other, None).await;
    let retry = with_key(4, 3);
    let messages = setup::start_turn(storage, &retry).await.messages;
    assert_own_message(&messages, &retry, 5, Some(failed.turn_id));
    let stored = lookup::turn(storage, retry.turn_id).await;
    assert_eq!(stored.and_then(|turn| turn.retry_of), Some(failed.turn_id));
}

/// Another command with the released key stores a new message.
pub async fn another_command_with_a_released_key_stores_a_new_message(storage: &Store) {
    failed_turn(storage).await;
    let mut begin = with_key(3, 2);
    let entry = begin.idempotency.as_mut().expect("the turn has an entry");
    entry.fingerprint = Fingerprint::of(&"another command");
    let messages = setup::start_turn(storage, &begin).await.messages;
    assert_new_message(&messages, &begin, 4);
}

/// A retry in a new conversation stores a new message.
pub async fn a_retry_in_another_conversation_stores_a_new_message(storage: &Store) {
    failed_turn(storage).await;
    let agent = fixture::agent(1);
    let retry = BeginTurn {
        target: ConversationTarget::New(fixture::conversation(2, agent.id)),
        is_resumption: true,
        ..with_key(3, 0)
    };
    let messages = setup::start_turn(storage, &retry).await.messages;
    assert_new_message(&messages, &retry, 1);
}

/// A retry that is queued stores a new message when it starts. It repeats the failed turn.
pub async fn a_queued_retry_stores_a_new_message(storage: &Store) {
    let failed = failed_turn(storage).await;
    let running = BeginTurn {
        idempotency: None,
        ..with_key(3, 2)
    };
    setup::start_turn(storage, &running).await;
    let retry = with_key(4, 3);
    setup::queue_turn(storage, &retry).await;
    let (_, promoted) = setup::cancel_turn(storage, &running, Some(running.node)).await;
    let promoted = promoted.expect("the retry waits");
    assert_own_message(&promoted.messages, &retry, 5, Some(failed.turn_id));
    let messages = lookup::messages(storage, retry.target.id()).await;
    assert_eq!(messages[4].id, retry.message_id);
}

/// A superseded message is not answered by a retry, also if no visible message follows it.
pub async fn a_retry_of_a_superseded_message_stores_a_new_one(storage: &Store) {
    let failed = failed_turn(storage).await;
    let conversation = with_key(3, 2).target.id();
    let question = lookup::messages(storage, conversation).await.remove(0);
    let begin = BeginTurn {
        idempotency: None,
        ..fixture::answering_again(with_key(3, 2), &question, 1)
    };
    setup::start_turn(storage, &begin).await;
    setup::cancel_turn(storage, &begin, None).await;
    let retry = with_key(4, 3);
    let messages = setup::start_turn(storage, &retry).await.messages;
    assert_own_message(&messages, &retry, 4, Some(failed.turn_id));
    assert_eq!(lookup::message_seqs(storage, conversation).await, [1, 4]);
}

/// A retry of a turn that has superseded messages answers its message, too.
pub async fn a_retry_of_a_superseding_turn_answers_its_message(storage: &Store) {
    setup::chat_with_turns(storage, 2).await;
    let failed = fixture::superseding(with_key(3, 2), 1, 0);
    setup::start_turn(storage, &failed).await;
    setup::fail_turn(storage, &failed).await;
    let retry = with_key(4, 3);
    let messages = setup::start_turn(storage, &retry).await.messages;
    assert_eq!(
        (messages.message.id, messages.message.seq),
        (failed.message_id, 5)
    );
    assert_eq!(
        (messages.reply_seq, messages.retry_of),
        (6, Some(failed.turn_id))
    );
    setup::complete_turn(storage, &retry, 4).await;
    let stored = lookup::conversation(storage, retry.target.id()).await;
    assert_eq!(stored.map(|stored| stored.message_count), Some(2));
}
