//! Keys that turns give back when they fail, and who may take them over.

use domain::{Fingerprint, IdempotencyClaim, IdempotencyRecord, Problem, idempotency::RETENTION};
use ports::{
    BeginOutcome, BeginTurn, Exchange, ExchangeOutcome, ExchangeTarget, Storage, TurnEnding,
};
use tokio::task::JoinSet;

use crate::{answers::Answer as _, found, given, log, samples, untouched::Before};

fn key() -> IdempotencyClaim {
    samples::claim("k")
}

fn with_key(question: BeginTurn) -> BeginTurn {
    BeginTurn {
        claim: Some(key()),
        ..question
    }
}

async fn failed(storage: &Storage, question: &BeginTurn, problem: Problem) {
    let finish = samples::finish(question, TurnEnding::failed(problem));
    given::finished(storage, finish).await;
}

/// Question 1 of a new conversation 1 has failed and given its key back; conversation 2 is idle.
async fn released(storage: &Storage) -> BeginTurn {
    let (agent, _) = given::chat(storage).await;
    let target = ExchangeTarget::New(samples::conversation(2, agent.id));
    let question = with_key(samples::question(1, &agent, target));
    given::started(storage, &question).await;
    failed(storage, &question, samples::retryable_problem()).await;
    question
}

/// The same command again, with `number`, which would make a conversation.
fn again(number: u32) -> BeginTurn {
    let agent = samples::agent(1);
    let target = ExchangeTarget::New(samples::conversation(number + 100, agent.id));
    with_key(samples::question(number, &agent, target))
}

async fn record(storage: &Storage) -> IdempotencyRecord {
    let record = found::claim(storage, &key()).await;
    record.expect("the key is remembered")
}

/// A retryable failure gives the key back: its record stays, and names the conversation instead
/// of the turn.
pub async fn a_retryable_failure_gives_the_key_back(storage: &Storage) {
    let question = released(storage).await;
    let expected = IdempotencyRecord {
        fingerprint: key().fingerprint,
        turn_id: None,
        released_into: Some(question.target.id()),
        answer: None,
        created_at: key().created_at,
    };
    assert_eq!(record(storage).await, expected);
}

/// Who repeats the command and would make a conversation is told of the one there is, and
/// nothing is written: neither by a turn that begins nor by an exchange.
pub async fn a_key_given_back_is_told_to_who_would_make_a_conversation(storage: &Storage) {
    released(storage).await;
    let (question, expected) = (again(2), record(storage).await);
    let before = Before::of(storage, &question).await;
    let begun = storage.turns.begin_turn(question.clone()).await.answered();
    assert_eq!(begun, BeginOutcome::Repeated(expected.clone()));
    let exchange = Exchange {
        question: question.clone(),
        ..samples::exchange(2, &samples::agent(1), question.target.clone())
    };
    let recorded = storage.turns.record_exchange(exchange).await.answered();
    assert_eq!(recorded, ExchangeOutcome::Repeated(expected.clone()));
    before.assert_untouched_by(storage, &question).await;
    assert_eq!(record(storage).await, expected);
}

async fn assert_taken_over(storage: &Storage, question: &BeginTurn) {
    given::started(storage, question).await;
    let record = found::claim(storage, question.claim.as_ref().expect("there is one")).await;
    let record = record.expect("the key is remembered");
    let named = (record.turn_id, record.released_into);
    assert_eq!(named, (Some(question.turn_id), None));
    match storage.turns.begin_turn(again(99)).await.answered() {
        BeginOutcome::Repeated(told) => assert_eq!(told, record),
        other => panic!("the key is used: {other:?}"),
    }
}

/// Who goes on in the conversation takes the key over.
pub async fn a_key_given_back_is_taken_over_in_its_conversation(storage: &Storage) {
    let first = released(storage).await;
    let target = ExchangeTarget::Existing {
        id: first.target.id(),
        turn_count: 1,
    };
    let question = with_key(samples::question(2, &samples::agent(1), target));
    assert_taken_over(storage, &question).await;
}

/// Who goes on knowing of it takes the key over also with a conversation of its own: the other
/// may be gone.
pub async fn a_key_given_back_is_taken_over_by_who_knows_of_it(storage: &Storage) {
    released(storage).await;
    let question = BeginTurn {
        goes_on: true,
        ..again(2)
    };
    assert_taken_over(storage, &question).await;
}

/// Another command takes the key over as if it had never been used.
pub async fn a_key_given_back_is_taken_over_by_another_command(storage: &Storage) {
    released(storage).await;
    let mut question = again(2);
    let claim = question.claim.as_mut().expect("there is one");
    claim.fingerprint = Fingerprint::of(&"another command");
    assert_taken_over(storage, &question).await;
}

/// An exchange takes the key over like a turn that begins.
pub async fn an_exchange_takes_over_a_key_given_back(storage: &Storage) {
    released(storage).await;
    let question = BeginTurn {
        goes_on: true,
        ..again(2)
    };
    let exchange = Exchange {
        question: question.clone(),
        ..samples::exchange(2, &samples::agent(1), question.target.clone())
    };
    given::recorded(storage, exchange).await;
    let record = record(storage).await;
    let named = (record.turn_id, record.released_into);
    assert_eq!(named, (Some(question.turn_id), None));
}

/// Of many who take the key over at once, one begins a turn; the others are told which.
pub async fn one_of_many_takes_over_a_key_given_back(storage: &Storage) {
    released(storage).await;
    let mut writers = JoinSet::new();
    for number in 2..=17 {
        let question = BeginTurn {
            goes_on: true,
            ..again(number)
        };
        let storage = storage.clone();
        writers.spawn(async move { storage.turns.begin_turn(question).await.answered() });
    }
    let (mut started, mut named) = (0, Vec::new());
    for outcome in writers.join_all().await {
        match outcome {
            BeginOutcome::Started { .. } => started += 1,
            BeginOutcome::Repeated(record) => named.push(record.turn_id),
            other => panic!("neither started nor repeated: {other:?}"),
        }
    }
    let turn = record(storage).await.turn_id;
    assert!(turn.is_some());
    assert_eq!((started, named), (1, vec![turn; 15]));
    // The agent, both conversations that were there, and the one that the winner made.
    let started = log::types(storage).await;
    assert_eq!(started.len(), 3 + 2 + 2);
}

/// A key given back is forgotten when it would have been anyway.
pub async fn a_key_given_back_is_forgotten_after_its_time(storage: &Storage) {
    released(storage).await;
    let mut question = again(2);
    let claim = question.claim.as_mut().expect("there is one");
    claim.created_at = claim.created_at + RETENTION;
    assert_eq!(found::claim(storage, claim).await, None);
    given::started(storage, &question).await;
}

/// Any other end keeps it.
pub async fn any_other_end_keeps_the_key(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    for (number, key) in [(1, "fails"), (2, "completes"), (3, "is cancelled")] {
        let count = i64::from(number) - 1;
        let claim = samples::claim(&key.replace(' ', "-"));
        let question = BeginTurn {
            claim: Some(claim.clone()),
            ..samples::question(number, &agent, samples::existing(&talk, count))
        };
        given::started(storage, &question).await;
        match key {
            "fails" => {
                failed(storage, &question, samples::lasting_problem()).await;
            }
            "completes" => {
                let ending = TurnEnding::Completed(samples::reply(number));
                given::finished(storage, samples::finish(&question, ending)).await;
            }
            _ => {
                given::cancelled(storage, &question, None).await;
            }
        }
        let record = found::claim(storage, &claim).await;
        let named = record.and_then(|record| record.turn_id);
        assert_eq!(named, Some(question.turn_id), "a turn that {key}");
        let again = storage.turns.begin_turn(question).await.answered();
        assert!(matches!(again, BeginOutcome::Repeated(_)), "{again:?}");
    }
}

/// A turn releases its own key only: one that another turn took over when it was forgotten stays.
pub async fn releases_no_key_that_another_turn_has_taken_over(storage: &Storage) {
    let (agent, _) = given::chat(storage).await;
    let first = again(1);
    given::started(storage, &first).await;
    let mut claim = key();
    claim.created_at = claim.created_at + RETENTION + std::time::Duration::from_millis(1);
    let other_talk = given::conversation(storage, 2, &agent).await;
    let second = BeginTurn {
        claim: Some(claim.clone()),
        ..samples::question(2, &agent, samples::existing(&other_talk, 0))
    };
    given::started(storage, &second).await;
    failed(storage, &first, samples::retryable_problem()).await;
    let record = found::claim(storage, &claim).await;
    let named = record.and_then(|record| record.turn_id);
    assert_eq!(named, Some(second.turn_id));
}
