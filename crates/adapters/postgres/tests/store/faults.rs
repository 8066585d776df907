//! What must hold when the way to the database fails.

use std::time::{Duration, Instant};

use contract::samples;
use domain::{Agent, Seq, TurnStatus};
use ports::{
    BeginOutcome, Exchange, ExchangeOutcome, ExchangeTarget, FinishOutcome, LogBounds,
    RepositoryError, Storage, TurnEnding,
};

use crate::{
    database::{Database, store},
    wire::{Cuttable, Wire},
};

/// A database with one agent, and the way to it through a wire.
async fn behind_a_wire() -> (Database, Cuttable, Storage, Agent) {
    let database = Database::make().await;
    let wire = Cuttable::to(&database.options()).await;
    let storage = store(&wire.options(&database.options())).await.storage();
    let agent = samples::agent(1);
    let (tenant, stamp) = (samples::tenant(), samples::stamp(0));
    let made = database.agents.insert(&tenant, &agent, &stamp, None).await;
    made.expect("an agent");
    (database, wire, storage, agent)
}

fn first_exchange(agent: &Agent) -> Exchange {
    let conversation = samples::conversation(1, agent.id);
    samples::exchange(1, agent, ExchangeTarget::New(conversation))
}

/// The log after an agent and one exchange in a new conversation.
const ONE_EXCHANGE: LogBounds = LogBounds::new(Seq(1), Seq(4));

async fn records_once(fault: Wire) {
    let (database, wire, storage, agent) = behind_a_wire().await;
    // The writer is connected before its commit is lost.
    let other = samples::conversation(2, samples::agent_id(404));
    let unknown = samples::exchange(2, &samples::agent(404), ExchangeTarget::New(other));
    let outcome = storage
        .turns
        .record_exchange(unknown)
        .await
        .expect("an answer");
    assert_eq!(outcome, ExchangeOutcome::AgentNotFound);

    wire.set(fault);
    let outcome = storage.turns.record_exchange(first_exchange(&agent)).await;
    let ExchangeOutcome::Recorded { committed, .. } = outcome.expect("an answer") else {
        panic!("not recorded");
    };
    assert_eq!((committed.first, committed.last), (Seq(2), Seq(4)));
    assert!(wire.is_whole());
    let tenant = samples::tenant();
    assert_eq!(
        database.events.bounds(&tenant).await.expect("an answer"),
        ONE_EXCHANGE
    );
    let head = database
        .conversations
        .find_head(&tenant, samples::conversation_id(1))
        .await;
    let head = head.expect("an answer").value.expect("the conversation");
    assert_eq!((head.message_count, head.turn_count), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_whose_commit_was_lost_is_recorded_once() {
    records_once(Wire::LosesNextCommit).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_whose_answer_was_lost_is_recorded_once() {
    records_once(Wire::LosesNextAnswer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_not_repeated_by_an_attempt_of_its_own() {
    let (_database, wire, storage, agent) = behind_a_wire().await;
    let mut exchange = first_exchange(&agent);
    exchange.question.claim = Some(samples::claim("once"));
    wire.set(Wire::LosesNextAnswer);
    let outcome = storage
        .turns
        .record_exchange(exchange.clone())
        .await
        .unwrap();
    assert!(
        matches!(outcome, ExchangeOutcome::Recorded { .. }),
        "{outcome:?}"
    );
    let again = storage.turns.record_exchange(exchange).await.unwrap();
    assert!(matches!(again, ExchangeOutcome::Repeated(_)), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_turn_whose_answer_was_lost_still_tells_whom_it_promoted() {
    let (database, wire, storage, agent) = behind_a_wire().await;
    let node = samples::node_id(1);
    database
        .nodes
        .insert(node, Duration::from_mins(1))
        .await
        .unwrap();
    let conversation = samples::conversation(1, agent.id);
    let first = samples::question(1, &agent, ExchangeTarget::New(conversation.clone()));
    let second = samples::question(2, &agent, samples::existing(&conversation, 1));
    storage.turns.begin_turn(first.clone()).await.unwrap();
    wire.set(Wire::LosesNextAnswer);
    let queued = storage.turns.begin_turn(second.clone()).await.unwrap();
    assert!(matches!(queued, BeginOutcome::Queued(_)), "{queued:?}");

    wire.set(Wire::LosesNextAnswer);
    let finish = samples::finish(&first, TurnEnding::Completed(samples::reply(1)));
    let outcome = storage.turns.finish_turn(finish).await.unwrap();
    assert!(wire.is_whole());
    let FinishOutcome::Finished { promoted, .. } = outcome else {
        panic!("{outcome:?}");
    };
    let promoted = promoted.expect("the turn that waited");
    assert_eq!(promoted.turn.id, second.turn_id);
    assert_eq!(promoted.turn.status, TurnStatus::InProgress);
    assert_eq!((promoted.message_seq, promoted.turn_number), (3, 1));
}

/// Has a read, a write and a chat find out that nothing comes back, and answers how long that took.
async fn all_unavailable(storage: &Storage, agent: &Agent) -> Duration {
    let (tenant, stamp) = (samples::tenant(), samples::stamp(1));
    let next = samples::renamed(agent, "Next");
    let begun = Instant::now();
    let (read, write, chat) = tokio::join!(
        storage.agents.find(&tenant, agent.id),
        storage.agents.update(&tenant, &next, &stamp),
        storage.turns.record_exchange(first_exchange(agent)),
    );
    let took = begun.elapsed();
    let errors = [read.err(), write.err(), chat.err()];
    for error in errors {
        assert!(
            matches!(error, Some(RepositoryError::Unavailable(_))),
            "{error:?}"
        );
    }
    took
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_hangs_is_unavailable_within_five_seconds_and_then_works_again() {
    let (_database, wire, storage, agent) = behind_a_wire().await;
    let tenant = samples::tenant();
    let mut quickest = Duration::MAX;
    // A machine may hang, too, but hardly every time.
    for _ in 0..3 {
        storage.agents.find(&tenant, agent.id).await.unwrap();
        wire.set(Wire::Silent);
        quickest = quickest.min(all_unavailable(&storage, &agent).await);
        wire.set(Wire::Whole);
        if quickest < Duration::from_secs(5) {
            break;
        }
    }
    assert!(quickest < Duration::from_secs(5), "{quickest:?}");

    storage.agents.find(&tenant, agent.id).await.unwrap();
    let chat = storage
        .turns
        .record_exchange(first_exchange(&agent))
        .await
        .unwrap();
    assert!(matches!(chat, ExchangeOutcome::Recorded { .. }), "{chat:?}");
}
