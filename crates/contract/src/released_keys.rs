//! Idempotency keys that failed turns release, and their reuse.

use domain::{Fingerprint, IdempotencyEntry, IdempotencyRecord, Problem, idempotency::RETENTION};
use tokio::task::JoinSet;
use writes::{
    BeginOutcome, BeginTurn, CompletedTurn, ConversationTarget, RecordTurnOutcome, TurnEnding,
};

use crate::{Store, fixture, log, lookup, results::ResultExt as _, setup, snapshot::Snapshot};

fn key() -> IdempotencyEntry {
    fixture::entry("k")
}

fn with_key(begin: BeginTurn) -> BeginTurn {
    BeginTurn {
        idempotency: Some(key()),
        ..begin
    }
}

async fn fail_turn(storage: &Store, begin: &BeginTurn, problem: Problem) {
    let finish = fixture::finish(begin, TurnEnding::failed(problem));
    setup::finish_turn(storage, finish).await;
}

/// Fails turn 1 of the new conversation 2, which releases its key. Conversation 1 is idle.
async fn release_key(storage: &Store) -> BeginTurn {
    let (agent, _) = setup::chat(storage).await;
    let target = ConversationTarget::New(fixture::conversation(2, agent.id));
    let begin = with_key(fixture::begin_turn(1, &agent, target));
    setup::start_turn(storage, &begin).await;
    fail_turn(storage, &begin, fixture::retryable_problem()).await;
    begin
}

/// A turn with the same key and command, which would create a conversation.
fn repeat_command(number: u32) -> BeginTurn {
    let agent = fixture::agent(1);
    let target = ConversationTarget::New(fixture::conversation(number + 100, agent.id));
    with_key(fixture::begin_turn(number, &agent, target))
}

async fn record(storage: &Store) -> IdempotencyRecord {
    let record = lookup::record(storage, &key()).await;
    record.expect("the key is stored")
}

/// A retryable failure releases the key: its record stays, and names the conversation instead of
/// the turn.
pub async fn a_retryable_failure_releases_the_key(storage: &Store) {
    let begin = release_key(storage).await;
    let expected = IdempotencyRecord {
        fingerprint: key().fingerprint,
        turn_id: None,
        released_into: Some(begin.target.id()),
        released_by: Some(begin.turn_id),
        result: None,
        created_at: key().created_at,
    };
    assert_eq!(record(storage).await, expected);
}

/// A repeated command that would create a conversation receives the record with the existing one,
/// and nothing is written, both for `begin_turn` and for `record_completed_turn`.
pub async fn a_released_key_is_replayed_to_a_repeated_command_for_a_new_conversation(
    storage: &Store,
) {
    release_key(storage).await;
    let (begin, expected) = (repeat_command(2), record(storage).await);
    let before = Snapshot::take(storage, &begin).await;
    let outcome = storage.turns.begin_turn(begin.clone()).await.success();
    assert_eq!(outcome, BeginOutcome::Replayed(expected.clone()));
    let turn = CompletedTurn {
        begin: begin.clone(),
        ..fixture::completed_turn(2, &fixture::agent(1), begin.target.clone())
    };
    let recorded = storage.turns.record_completed_turn(turn).await.success();
    assert_eq!(recorded, RecordTurnOutcome::Replayed(expected.clone()));
    before.assert_unchanged_by(storage, &begin).await;
    assert_eq!(record(storage).await, expected);
}

async fn assert_key_reused(storage: &Store, begin: &BeginTurn) {
    setup::start_turn(storage, begin).await;
    let record = lookup::record(
        storage,
        begin
            .idempotency
            .as_ref()
            .expect("the turn has an idempotency entry"),
    )
    .await;
    let record = record.expect("the key is stored");
    let named = (record.turn_id, record.released_into);
    assert_eq!(named, (Some(begin.turn_id), None));
    match storage.turns.begin_turn(repeat_command(99)).await.success() {
        BeginOutcome::Replayed(received) => assert_eq!(received, record),
        other => panic!("the key is used: {other:?}"),
    }
}

/// A turn that continues in the conversation reuses the key.
pub async fn a_released_key_is_reused_in_its_conversation(storage: &Store) {
    let first = release_key(storage).await;
    let target = ConversationTarget::Existing {
        id: first.target.id(),
        turn_count: 1,
    };
    let begin = with_key(fixture::begin_turn(2, &fixture::agent(1), target));
    assert_key_reused(storage, &begin).await;
}

/// A resumption reuses the key also in a new conversation: the previous one may be deleted.
pub async fn a_released_key_is_reused_by_a_resumption(storage: &Store) {
    release_key(storage).await;
    let begin = BeginTurn {
        is_resumption: true,
        ..repeat_command(2)
    };
    assert_key_reused(storage, &begin).await;
}

/// Another command reuses the key as if it had never been used.
pub async fn a_released_key_is_reused_by_another_command(storage: &Store) {
    release_key(storage).await;
    let mut begin = repeat_command(2);
    let entry = begin
        .idempotency
        .as_mut()
        .expect("the turn has an idempotency entry");
    entry.fingerprint = Fingerprint::of(&"another command");
    assert_key_reused(storage, &begin).await;
}

/// A completed turn reuses the key like a turn that begins.
pub async fn a_released_key_is_reused_by_a_completed_turn(storage: &Store) {
    release_key(storage).await;
    let begin = BeginTurn {
        is_resumption: true,
        ..repeat_command(2)
    };
    let turn = CompletedTurn {
        begin: begin.clone(),
        ..fixture::completed_turn(2, &fixture::agent(1), begin.target.clone())
    };
    setup::record_turn(storage, turn).await;
    let record = record(storage).await;
    let named = (record.turn_id, record.released_into);
    assert_eq!(named, (Some(begin.turn_id), None));
}

/// Of several concurrent turns that reuse the key, one begins; the others receive its record.
pub async fn one_of_many_concurrent_turns_reuses_a_released_key(storage: &Store) {
    release_key(storage).await;
    let mut writers = JoinSet::new();
    for number in 2..=17 {
        let begin = BeginTurn {
            is_resumption: true,
            ..repeat_command(number)
        };
        let storage = storage.clone();
        writers.spawn(async move { storage.turns.begin_turn(begin).await.success() });
    }
    let (mut started, mut named) = (0, Vec::new());
    for outcome in writers.join_all().await {
        match outcome {
            BeginOutcome::Started { .. } => started += 1,
            BeginOutcome::Replayed(record) => named.push(record.turn_id),
            other => panic!("neither started nor replayed: {other:?}"),
        }
    }
    let turn = record(storage).await.turn_id;
    assert!(turn.is_some());
    assert_eq!((started, named), (1, vec![turn; 15]));
    // The agent, the two existing conversations, and the one that the winner created.
    let started = log::types(storage).await;
    assert_eq!(started.len(), 3 + 2 + 2);
}

/// A released key expires at the same time as without the release.
pub async fn a_released_key_expires_after_the_retention_time(storage: &Store) {
    release_key(storage).await;
    let mut begin = repeat_command(2);
    let entry = begin
        .idempotency
        .as_mut()
        .expect("the turn has an idempotency entry");
    entry.created_at = entry.created_at + RETENTION;
    assert_eq!(lookup::record(storage, entry).await, None);
    setup::start_turn(storage, &begin).await;
}

/// Any other end keeps the key.
pub async fn any_other_end_keeps_the_key(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    for (number, key) in [(1, "fails"), (2, "completes"), (3, "is cancelled")] {
        let count = i64::from(number) - 1;
        let entry = fixture::entry(&key.replace(' ', "-"));
        let begin = BeginTurn {
            idempotency: Some(entry.clone()),
            ..fixture::begin_turn(number, &agent, fixture::existing(&conversation, count))
        };
        setup::start_turn(storage, &begin).await;
        match key {
            "fails" => {
                fail_turn(storage, &begin, fixture::lasting_problem()).await;
            }
            "completes" => {
                let ending = TurnEnding::Completed(fixture::reply(number));
                setup::finish_turn(storage, fixture::finish(&begin, ending)).await;
            }
            _ => {
                setup::cancel_turn(storage, &begin, None).await;
            }
        }
        let record = lookup::record(storage, &entry).await;
        let named = record.and_then(|record| record.turn_id);
        assert_eq!(named, Some(begin.turn_id), "a turn that {key}");
        let again = storage.turns.begin_turn(begin).await.success();
        assert!(matches!(again, BeginOutcome::Replayed(_)), "{again:?}");
    }
}

/// A turn releases only its own key: a key that expired and was used by another turn stays.
pub async fn a_turn_does_not_release_a_key_that_another_turn_uses(storage: &Store) {
    let (agent, _) = setup::chat(storage).await;
    let first = repeat_command(1);
    setup::start_turn(storage, &first).await;
    let mut entry = key();
    entry.created_at = entry.created_at + RETENTION + std::time::Duration::from_millis(1);
    let other_talk = setup::conversation(storage, 2, &agent).await;
    let second = BeginTurn {
        idempotency: Some(entry.clone()),
        ..fixture::begin_turn(2, &agent, fixture::existing(&other_talk, 0))
    };
    setup::start_turn(storage, &second).await;
    fail_turn(storage, &first, fixture::retryable_problem()).await;
    let record = lookup::record(storage, &entry).await;
    let named = record.and_then(|record| record.turn_id);
    assert_eq!(named, Some(second.turn_id));
}
