//! Many turns at once: one at a time in a conversation, each with the outcome it would have alone.

use domain::{Agent, Conversation, EventType, TurnStatus};
use ports::{
    BeginOutcome, BeginTurn, CancelOutcome, Exchange, ExchangeOutcome, ExchangeTarget,
    FinishOutcome, RepositoryError, Storage, TurnEnding,
};
use tokio::task::JoinSet;

use crate::{answers::Answer as _, found, given, log, samples};

async fn recorded_at_once(
    storage: &Storage,
    exchanges: Vec<Exchange>,
) -> Vec<Result<ExchangeOutcome, RepositoryError>> {
    let mut writers = JoinSet::new();
    for exchange in exchanges {
        let storage = storage.clone();
        writers.spawn(async move { storage.turns.record_exchange(exchange).await });
    }
    writers.join_all().await
}

async fn begun_at_once(storage: &Storage, questions: Vec<BeginTurn>) -> Vec<BeginOutcome> {
    let mut writers = JoinSet::new();
    for question in questions {
        let storage = storage.clone();
        writers.spawn(async move { storage.turns.begin_turn(question).await.answered() });
    }
    writers.join_all().await
}

async fn count_of(storage: &Storage, kind: EventType) -> usize {
    let types = log::types(storage).await;
    types.into_iter().filter(|found| *found == kind).count()
}

async fn assert_said(storage: &Storage, talk: &Conversation, expected: i64) {
    let messages = found::messages(storage, talk.id).await;
    let places: Vec<_> = messages.iter().map(|message| message.seq).collect();
    assert_eq!(places, (1..=expected).collect::<Vec<_>>());
    assert_eq!(found::head(storage, talk.id).await.message_count, expected);
}

/// Of exchanges that assume the same turn count, one is recorded; the others are `Stale`.
pub async fn one_of_many_exchanges_on_one_assumption_is_recorded(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let exchanges = (1..=16)
        .map(|number| samples::exchange(number, &agent, samples::existing(&talk, 0)))
        .collect();
    let mut recorded = 0;
    for outcome in recorded_at_once(storage, exchanges).await {
        match outcome {
            Ok(ExchangeOutcome::Recorded { .. }) => recorded += 1,
            Err(RepositoryError::Stale { .. }) => {}
            other => panic!("neither recorded nor stale: {other:?}"),
        }
    }
    assert_eq!(recorded, 1);
    assert_said(storage, &talk, 2).await;
    assert_eq!(count_of(storage, EventType::TurnCompleted).await, 1);
}

/// One starts, sixteen wait, the rest are refused; then they run one after the other, each once,
/// in the order of their `turn.queued` events.
pub async fn one_turn_runs_at_a_time_however_many_are_asked_at_once(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = |number| samples::question(number, &agent, samples::existing(&talk, 0));
    let outcomes = begun_at_once(storage, (1..=24).map(question).collect()).await;
    let started = |outcome: &&BeginOutcome| matches!(outcome, BeginOutcome::Started { .. });
    assert_eq!(outcomes.iter().filter(started).count(), 1);
    let busy = outcomes
        .iter()
        .filter(|outcome| **outcome == BeginOutcome::Busy);
    assert_eq!(busy.count(), 7);
    let mut waiting = log::events(storage).await;
    waiting.retain(|event| event.kind == EventType::TurnQueued);
    assert_eq!(waiting.len(), 16);
    let running = found::head(storage, talk.id).await.running_turn;
    let mut running = running.expect("one turn runs");
    for (number, expected) in (1..).zip(waiting) {
        let mut ends = question(number);
        ends.turn_id = running;
        let ending = TurnEnding::Completed(samples::reply(number));
        let (_, promoted) = given::finished(storage, samples::finish(&ends, ending)).await;
        let promoted = promoted.expect("turns wait").turn.id;
        assert_eq!(Some(promoted), expected.turn_id);
        running = promoted;
    }
    assert_said(storage, &talk, 33).await;
}

/// The same key many times at once: the turn is begun once, all others are told which.
pub async fn one_key_begins_one_turn_however_often_it_is_sent(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let questions = (1..=16).map(|number| BeginTurn {
        claim: Some(samples::claim("k")),
        ..samples::question(number, &agent, samples::existing(&talk, 0))
    });
    let mut repeated = Vec::new();
    for outcome in begun_at_once(storage, questions.collect()).await {
        match outcome {
            BeginOutcome::Started { .. } => {}
            BeginOutcome::Repeated(record) => repeated.push(record.turn_id),
            other => panic!("neither started nor repeated: {other:?}"),
        }
    }
    let running = found::head(storage, talk.id).await.running_turn;
    assert!(running.is_some());
    assert_eq!(repeated, [running; 15]);
    assert_said(storage, &talk, 1).await;
}

/// The same key many times at once, each with a conversation of its own: one is made.
pub async fn one_key_records_one_exchange_however_often_it_is_sent(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let exchanges = (1..=16).map(|number| {
        let target = ExchangeTarget::New(samples::conversation(number, agent.id));
        let mut exchange = samples::exchange(number, &agent, target);
        exchange.question.claim = Some(samples::claim("k"));
        exchange
    });
    let outcomes = recorded_at_once(storage, exchanges.collect()).await;
    let (mut recorded, mut named) = (0, Vec::new());
    for outcome in outcomes {
        match outcome.answered() {
            ExchangeOutcome::Recorded { .. } => recorded += 1,
            ExchangeOutcome::Repeated(record) => named.push(record.turn_id),
            other => panic!("neither recorded nor repeated: {other:?}"),
        }
    }
    let record = found::claim(storage, &samples::claim("k")).await;
    let turn = record.and_then(|record| record.turn_id);
    assert!(turn.is_some());
    assert_eq!((recorded, named), (1, vec![turn; 15]));
    assert_eq!(count_of(storage, EventType::ConversationCreated).await, 1);
    assert_eq!(count_of(storage, EventType::TurnCompleted).await, 1);
}

/// Writes of many conversations, good ones and all sorts of bad ones, at once: each outcome is as
/// if the write were a transaction of its own.
pub async fn every_write_of_a_group_has_its_own_outcome(storage: &Storage) {
    let (agent, _) = given::chat(storage).await;
    let mut stale = agent.clone();
    stale.version = 9;
    let exchange_of = |number: u32| {
        let talk = samples::conversation(number + 1_000, agent.id);
        let agent = match number % 4 {
            1 => &samples::agent(404),
            2 => &stale,
            _ => &agent,
        };
        let target = match number % 4 {
            3 => samples::existing(&talk, 0),
            _ => ExchangeTarget::New(talk),
        };
        samples::exchange(number, agent, target)
    };
    let mut writers = JoinSet::new();
    for number in 0..64 {
        let (storage, exchange) = (storage.clone(), exchange_of(number));
        writers.spawn(async move { (number, storage.turns.record_exchange(exchange).await) });
    }
    for (number, outcome) in writers.join_all().await {
        let is_right = matches!(
            (number % 4, &outcome),
            (0, Ok(ExchangeOutcome::Recorded { .. }))
                | (1, Ok(ExchangeOutcome::AgentNotFound))
                | (2, Err(RepositoryError::Stale { .. }))
                | (3, Ok(ExchangeOutcome::ConversationNotFound))
        );
        assert!(is_right, "exchange {number}: {outcome:?}");
        let turn = found::turn(storage, samples::turn_id(number)).await;
        assert_eq!(turn.is_some(), number % 4 == 0, "exchange {number}");
    }
    assert_eq!(count_of(storage, EventType::TurnCompleted).await, 16);
}

/// What a store cannot keep fails alone, and leaves nothing; all beside it is recorded.
pub async fn a_bad_write_of_a_group_fails_alone(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let mut writers = JoinSet::new();
    for number in 0..32 {
        let target = ExchangeTarget::New(samples::conversation(number + 1_000, agent.id));
        let mut exchange = samples::exchange(number, &agent, target);
        if number % 8 == 3 {
            // Some databases keep no NUL. Whoever does must keep it rightly.
            "before\0after".clone_into(&mut exchange.question.input);
        }
        let storage = storage.clone();
        writers.spawn(async move {
            let input = exchange.question.input.clone();
            (number, input, storage.turns.record_exchange(exchange).await)
        });
    }
    for (number, input, outcome) in writers.join_all().await {
        let turn = found::turn(storage, samples::turn_id(number)).await;
        match outcome {
            Ok(ExchangeOutcome::Recorded { .. }) => {
                assert_eq!(turn.map(|turn| turn.input), Some(input));
            }
            Err(_) if input.contains('\0') => assert_eq!(turn, None),
            other => panic!("exchange {number}: {other:?}"),
        }
    }
}

async fn running_turn(storage: &Storage, number: u32, agent: &Agent) -> BeginTurn {
    let target = ExchangeTarget::New(samples::conversation(number + 1_000, agent.id));
    let question = samples::question(number, agent, target);
    given::started(storage, &question).await;
    question
}

/// Cancel and completion race on one condition in the store: exactly one wins.
pub async fn either_cancel_or_completion_wins(storage: &Storage) {
    let (agent, _) = given::chat(storage).await;
    for number in 1..=24 {
        let question = running_turn(storage, number, &agent).await;
        let ending = TurnEnding::Completed(samples::reply(number));
        let finish = samples::finish(&question, ending);
        let (tenant, stamp) = (samples::tenant(), samples::stamp(900));
        let turns = &storage.turns;
        let cancel = turns.cancel_turn(&tenant, question.turn_id, None, None, &stamp);
        let (finished, cancelled) = if number % 2 == 0 {
            futures::join!(turns.finish_turn(finish), cancel)
        } else {
            let (cancelled, finished) = futures::join!(cancel, turns.finish_turn(finish));
            (finished, cancelled)
        };
        let turn = found::turn(storage, question.turn_id).await;
        let status = turn.map(|turn| turn.status);
        match (finished.answered(), cancelled.answered()) {
            (FinishOutcome::Finished { .. }, CancelOutcome::AlreadyFinal) => {
                assert_eq!(status, Some(TurnStatus::Completed));
            }
            (FinishOutcome::Refused, CancelOutcome::Cancelled { .. }) => {
                assert_eq!(status, Some(TurnStatus::Cancelled));
            }
            both => panic!("both or none won: {both:?}"),
        }
    }
    let ends = count_of(storage, EventType::TurnCompleted).await
        + count_of(storage, EventType::TurnCancelled).await;
    assert_eq!(ends, 24);
}

/// The same end many times at once: the turn is finished once.
pub async fn a_turn_is_finished_once_however_often_it_is_sent(storage: &Storage) {
    let (agent, _) = given::chat(storage).await;
    let question = running_turn(storage, 1, &agent).await;
    let mut writers = JoinSet::new();
    for number in 1..=12 {
        let ending = TurnEnding::Completed(samples::reply(number));
        let (storage, finish) = (storage.clone(), samples::finish(&question, ending));
        writers.spawn(async move {
            let outcome = storage.turns.finish_turn(finish).await.answered();
            matches!(outcome, FinishOutcome::Finished { .. })
        });
    }
    let won = writers.join_all().await.into_iter().filter(|won| *won);
    assert_eq!(won.count(), 1);
    assert_eq!(count_of(storage, EventType::TurnCompleted).await, 1);
}

/// Exchanges, beginnings and ends of many conversations go through the same group, each rightly.
pub async fn turns_of_many_conversations_run_beside_each_other(storage: &Storage) {
    let (agent, _) = given::chat(storage).await;
    let mut writers = JoinSet::new();
    for number in 1..=32 {
        let (storage, agent) = (storage.clone(), agent.clone());
        writers.spawn(async move {
            let question = running_turn(&storage, number, &agent).await;
            let ending = TurnEnding::Completed(samples::reply(number));
            given::finished(&storage, samples::finish(&question, ending)).await;
            let target = ExchangeTarget::Existing {
                id: question.target.id(),
                turn_count: 1,
            };
            let exchange = samples::exchange(number + 100, &agent, target);
            given::recorded(&storage, exchange).await;
        });
    }
    writers.join_all().await;
    for number in 1..=32 {
        let talk = samples::conversation(number + 1_000, agent.id);
        assert_said(storage, &talk, 4).await;
    }
    assert_eq!(count_of(storage, EventType::TurnCompleted).await, 64);
}
