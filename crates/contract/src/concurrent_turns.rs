//! Concurrent turns: one at a time per conversation, each with the outcome that it would have
//! alone.

use domain::{Agent, Conversation, EventType, TurnStatus};
use ports::RepositoryError;
use tokio::task::JoinSet;
use writes::{
    BeginOutcome, BeginTurn, CancelOutcome, CompletedTurn, ConversationTarget, FinishOutcome,
    RecordTurnOutcome, TurnEnding,
};

use crate::{Store, fixture, log, lookup, results::ResultExt as _, setup};

async fn recorded_at_once(
    storage: &Store,
    turns: Vec<CompletedTurn>,
) -> Vec<Result<RecordTurnOutcome, RepositoryError>> {
    let mut writers = JoinSet::new();
    for turn in turns {
        let storage = storage.clone();
        writers.spawn(async move { storage.turns.record_completed_turn(turn).await });
    }
    writers.join_all().await
}

async fn begun_at_once(storage: &Store, begins: Vec<BeginTurn>) -> Vec<BeginOutcome> {
    let mut writers = JoinSet::new();
    for begin in begins {
        let storage = storage.clone();
        writers.spawn(async move { storage.turns.begin_turn(begin).await.success() });
    }
    writers.join_all().await
}

pub(crate) async fn count_of(storage: &Store, kind: EventType) -> usize {
    let types = log::types(storage).await;
    types.into_iter().filter(|found| *found == kind).count()
}

async fn assert_message_count(storage: &Store, conversation: &Conversation, expected: i64) {
    let messages = lookup::messages(storage, conversation.id).await;
    let positions: Vec<_> = messages.iter().map(|message| message.seq).collect();
    assert_eq!(positions, (1..=expected).collect::<Vec<_>>());
    assert_eq!(
        lookup::state(storage, conversation.id)
            .await
            .last_message_seq,
        expected
    );
}

/// Of several completed turns that assume the same turn count, one is recorded; the others are
/// `Stale`.
pub async fn one_of_many_completed_turns_on_one_assumption_is_recorded(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let turns = (1..=16)
        .map(|number| fixture::completed_turn(number, &agent, fixture::existing(&conversation, 0)))
        .collect();
    let mut recorded = 0;
    for outcome in recorded_at_once(storage, turns).await {
        match outcome {
            Ok(RecordTurnOutcome::Recorded { .. }) => recorded += 1,
            Err(RepositoryError::Stale { .. }) => {}
            other => panic!("neither recorded nor stale: {other:?}"),
        }
    }
    assert_eq!(recorded, 1);
    assert_message_count(storage, &conversation, 2).await;
    assert_eq!(count_of(storage, EventType::TurnCompleted).await, 1);
}

/// One turn starts, 16 are queued, and the rest are rejected. The queued turns then run one after
/// the other, each once, in the order of their `turn.queued` events.
pub async fn one_turn_runs_at_a_time_however_many_begin_at_once(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = |number| fixture::begin_turn(number, &agent, fixture::existing(&conversation, 0));
    let outcomes = begun_at_once(storage, (1..=24).map(begin).collect()).await;
    let started = |outcome: &&BeginOutcome| matches!(outcome, BeginOutcome::Started { .. });
    assert_eq!(outcomes.iter().filter(started).count(), 1);
    let busy = outcomes
        .iter()
        .filter(|outcome| **outcome == BeginOutcome::Busy);
    assert_eq!(busy.count(), 7);
    let mut waiting = log::events(storage).await;
    waiting.retain(|event| event.kind == EventType::TurnQueued);
    assert_eq!(waiting.len(), 16);
    let running = lookup::state(storage, conversation.id).await.running_turn;
    let mut running = running.expect("one turn runs");
    for (number, expected) in (1..).zip(waiting) {
        let mut ends = begin(number);
        ends.turn_id = running;
        let ending = TurnEnding::Completed(fixture::reply(number));
        let (_, promoted) = setup::finish_turn(storage, fixture::finish(&ends, ending)).await;
        let promoted = promoted.expect("turns wait").turn.id;
        assert_eq!(Some(promoted), expected.turn_id);
        running = promoted;
    }
    assert_message_count(storage, &conversation, 33).await;
}

/// Of several turns with the same key, one begins; the others receive its record.
pub async fn one_key_begins_one_turn_however_often_it_is_used(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begins = (1..=16).map(|number| BeginTurn {
        idempotency: Some(fixture::entry("k")),
        ..fixture::begin_turn(number, &agent, fixture::existing(&conversation, 0))
    });
    let mut repeated = Vec::new();
    for outcome in begun_at_once(storage, begins.collect()).await {
        match outcome {
            BeginOutcome::Started { .. } => {}
            BeginOutcome::Replayed(record) => repeated.push(record.turn_id),
            other => panic!("neither started nor replayed: {other:?}"),
        }
    }
    let running = lookup::state(storage, conversation.id).await.running_turn;
    assert!(running.is_some());
    assert_eq!(repeated, [running; 15]);
    assert_message_count(storage, &conversation, 1).await;
}

/// Of several completed turns with the same key, each with a new conversation, one is recorded.
pub async fn one_key_records_one_completed_turn_however_often_it_is_used(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let turns = (1..=16).map(|number| {
        let target = ConversationTarget::New(fixture::conversation(number, agent.id));
        let mut turn = fixture::completed_turn(number, &agent, target);
        turn.begin.idempotency = Some(fixture::entry("k"));
        turn
    });
    let outcomes = recorded_at_once(storage, turns.collect()).await;
    let (mut recorded, mut named) = (0, Vec::new());
    for outcome in outcomes {
        match outcome.success() {
            RecordTurnOutcome::Recorded { .. } => recorded += 1,
            RecordTurnOutcome::Replayed(record) => named.push(record.turn_id),
            other => panic!("neither recorded nor replayed: {other:?}"),
        }
    }
    let record = lookup::record(storage, &fixture::entry("k")).await;
    let turn = record.and_then(|record| record.turn_id);
    assert!(turn.is_some());
    assert_eq!((recorded, named), (1, vec![turn; 15]));
    assert_eq!(count_of(storage, EventType::ConversationCreated).await, 1);
    assert_eq!(count_of(storage, EventType::TurnCompleted).await, 1);
}

async fn running_turn(storage: &Store, number: u32, agent: &Agent) -> BeginTurn {
    let target = ConversationTarget::New(fixture::conversation(number + 1_000, agent.id));
    let begin = fixture::begin_turn(number, agent, target);
    setup::start_turn(storage, &begin).await;
    begin
}

/// If a cancellation and a completion race, exactly one of them wins.
pub async fn either_cancel_or_completion_wins(storage: &Store) {
    let (agent, _) = setup::chat(storage).await;
    for number in 1..=24 {
        let begin = running_turn(storage, number, &agent).await;
        let ending = TurnEnding::Completed(fixture::reply(number));
        let finish = fixture::finish(&begin, ending);
        let (tenant, stamp) = (fixture::tenant(), fixture::stamp(900));
        let turns = &storage.turns;
        let cancel = turns.cancel_turn(&tenant, begin.turn_id, None, None, &stamp);
        let (finished, cancelled) = if number % 2 == 0 {
            futures::join!(turns.finish_turn(finish), cancel)
        } else {
            let (cancelled, finished) = futures::join!(cancel, turns.finish_turn(finish));
            (finished, cancelled)
        };
        let turn = lookup::turn(storage, begin.turn_id).await;
        let status = turn.map(|turn| turn.status);
        match (finished.success(), cancelled.success()) {
            (FinishOutcome::Finished { .. }, CancelOutcome::AlreadyFinal) => {
                assert_eq!(status, Some(TurnStatus::Completed));
            }
            (FinishOutcome::NotOwned, CancelOutcome::Cancelled { .. }) => {
                assert_eq!(status, Some(TurnStatus::Cancelled));
            }
            both => panic!("both or none won: {both:?}"),
        }
    }
    let ends = count_of(storage, EventType::TurnCompleted).await
        + count_of(storage, EventType::TurnCancelled).await;
    assert_eq!(ends, 24);
}

/// Of several identical ends of a turn, one is stored.
pub async fn a_turn_is_finished_once_however_often_it_is_sent(storage: &Store) {
    let (agent, _) = setup::chat(storage).await;
    let begin = running_turn(storage, 1, &agent).await;
    let mut writers = JoinSet::new();
    for number in 1..=12 {
        let ending = TurnEnding::Completed(fixture::reply(number));
        let (storage, finish) = (storage.clone(), fixture::finish(&begin, ending));
        writers.spawn(async move {
            let outcome = storage.turns.finish_turn(finish).await.success();
            matches!(outcome, FinishOutcome::Finished { .. })
        });
    }
    let won = writers.join_all().await.into_iter().filter(|won| *won);
    assert_eq!(won.count(), 1);
    assert_eq!(count_of(storage, EventType::TurnCompleted).await, 1);
}

/// Completed turns, beginnings and ends of many conversations share a group commit, each with its
/// own correct outcome.
pub async fn turns_of_many_conversations_run_at_the_same_time(storage: &Store) {
    let (agent, _) = setup::chat(storage).await;
    let mut writers = JoinSet::new();
    for number in 1..=32 {
        let (storage, agent) = (storage.clone(), agent.clone());
        writers.spawn(async move {
            let begin = running_turn(&storage, number, &agent).await;
            let ending = TurnEnding::Completed(fixture::reply(number));
            setup::finish_turn(&storage, fixture::finish(&begin, ending)).await;
            let target = ConversationTarget::Existing {
                id: begin.target.id(),
                turn_count: 1,
            };
            let turn = fixture::completed_turn(number + 100, &agent, target);
            setup::record_turn(&storage, turn).await;
        });
    }
    writers.join_all().await;
    for number in 1..=32 {
        let conversation = fixture::conversation(number + 1_000, agent.id);
        assert_message_count(storage, &conversation, 4).await;
    }
    assert_eq!(count_of(storage, EventType::TurnCompleted).await, 64);
}
