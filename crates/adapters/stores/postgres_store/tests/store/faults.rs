//! Tests of connections to the database that fail.

use std::time::{Duration, Instant};

use contract::{Store, fixture};
use domain::{Agent, Seq, TurnStatus};
use ports::{LogBounds, RepositoryError};
use writes::{
    BeginOutcome, CompletedTurn, ConversationTarget, FinishOutcome, RecordTurnOutcome, TurnEnding,
};

use crate::{
    database::{Database, store},
    proxy::{FaultyProxy, ProxyFault},
};

/// A database with one agent, and a store that is connected through a proxy.
async fn behind_a_proxy() -> (Database, FaultyProxy, Store, Agent) {
    let database = Database::new().await;
    let proxy = FaultyProxy::start(&database.options()).await;
    let storage = Store::new(store(&proxy.options(&database.options())).await.storage());
    let agent = fixture::agent(1);
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(0));
    let inserted = database.agents.insert(&tenant, &agent, &stamp, None).await;
    inserted.expect("an agent");
    (database, proxy, storage, agent)
}

fn first_turn(agent: &Agent) -> CompletedTurn {
    let conversation = fixture::conversation(1, agent.id);
    fixture::completed_turn(1, agent, ConversationTarget::New(conversation))
}

/// The log after an agent and one turn in a new conversation.
const ONE_TURN: LogBounds = LogBounds::new(Seq(1), Seq(4));

async fn records_once(fault: ProxyFault) {
    let (database, proxy, storage, agent) = behind_a_proxy().await;
    // The writer must be connected before its commit is lost.
    let other = fixture::conversation(2, fixture::agent_id(404));
    let unknown = fixture::completed_turn(2, &fixture::agent(404), ConversationTarget::New(other));
    let outcome = storage
        .turns
        .record_completed_turn(unknown)
        .await
        .expect("a response");
    assert_eq!(outcome, RecordTurnOutcome::AgentNotFound);

    proxy.set(fault);
    let outcome = storage
        .turns
        .record_completed_turn(first_turn(&agent))
        .await;
    let RecordTurnOutcome::Recorded { committed, .. } = outcome.expect("a response") else {
        panic!("not recorded");
    };
    assert_eq!((committed.first, committed.last), (Seq(2), Seq(4)));
    assert!(proxy.is_sound());
    let tenant = fixture::tenant();
    assert_eq!(
        database.events.bounds(&tenant).await.expect("a response"),
        ONE_TURN
    );
    let head = database
        .conversations
        .find_state(&tenant, fixture::conversation_id(1))
        .await;
    let head = head.expect("a response").value.expect("the conversation");
    assert_eq!((head.last_message_seq, head.turn_count), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_commit_was_lost_is_recorded_once() {
    records_once(ProxyFault::LosesNextCommit).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_confirmation_was_lost_is_recorded_once() {
    records_once(ProxyFault::LosesNextResponse).await;
}

/// The second write uses the facts of the first one, and is sent without a transaction.
async fn records_once_with_known_facts(fault: ProxyFault) {
    let (database, proxy, storage, agent) = behind_a_proxy().await;
    let first = storage.turns.record_completed_turn(first_turn(&agent));
    first.await.expect("a response");

    proxy.set(fault);
    let conversation = fixture::conversation(1, agent.id);
    let second = fixture::completed_turn(2, &agent, fixture::existing(&conversation, 1));
    let outcome = storage.turns.record_completed_turn(second).await;
    let RecordTurnOutcome::Recorded { committed, .. } = outcome.expect("a response") else {
        panic!("not recorded");
    };
    assert_eq!((committed.first, committed.last), (Seq(5), Seq(6)));
    assert!(proxy.is_sound());
    let bounds = database.events.bounds(&fixture::tenant()).await;
    assert_eq!(bounds.expect("a response"), LogBounds::new(Seq(1), Seq(6)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_was_lost_on_its_way_is_recorded_once_with_known_facts() {
    records_once_with_known_facts(ProxyFault::LosesNextCommit).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_confirmation_was_lost_is_recorded_once_with_known_facts() {
    records_once_with_known_facts(ProxyFault::LosesNextResponse).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retried_commit_is_not_a_replay_of_its_own_key() {
    let (_database, proxy, storage, agent) = behind_a_proxy().await;
    let mut completed_turn = first_turn(&agent);
    completed_turn.begin.idempotency = Some(fixture::entry("once"));
    proxy.set(ProxyFault::LosesNextResponse);
    let outcome = storage
        .turns
        .record_completed_turn(completed_turn.clone())
        .await
        .unwrap();
    assert!(
        matches!(outcome, RecordTurnOutcome::Recorded { .. }),
        "{outcome:?}"
    );
    let again = storage
        .turns
        .record_completed_turn(completed_turn)
        .await
        .unwrap();
    assert!(matches!(again, RecordTurnOutcome::Replayed(_)), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_turn_whose_confirmation_was_lost_still_returns_the_promoted_turn() {
    let (database, proxy, storage, agent) = behind_a_proxy().await;
    let node = fixture::node_id(1);
    database
        .nodes
        .insert(node, &fixture::process(), Duration::from_mins(1))
        .await
        .unwrap();
    let conversation = fixture::conversation(1, agent.id);
    let first = fixture::begin_turn(1, &agent, ConversationTarget::New(conversation.clone()));
    let second = fixture::begin_turn(2, &agent, fixture::existing(&conversation, 1));
    storage.turns.begin_turn(first.clone()).await.unwrap();
    proxy.set(ProxyFault::LosesNextResponse);
    let queued = storage.turns.begin_turn(second.clone()).await.unwrap();
    assert!(matches!(queued, BeginOutcome::Queued(_)), "{queued:?}");

    proxy.set(ProxyFault::LosesNextResponse);
    let finish = fixture::finish(&first, TurnEnding::Completed(fixture::reply(1)));
    let outcome = storage.turns.finish_turn(finish).await.unwrap();
    assert!(proxy.is_sound());
    let FinishOutcome::Finished { promoted, .. } = outcome else {
        panic!("{outcome:?}");
    };
    let promoted = promoted.expect("the queued turn");
    assert_eq!(promoted.turn.id, second.turn_id);
    assert_eq!(promoted.turn.status, TurnStatus::InProgress);
    assert_eq!(
        (promoted.messages.message.seq, promoted.messages.turn_number),
        (3, 1)
    );
}

/// Runs a read, a write and a chat, expects all to fail, and returns the time that they took.
async fn all_unavailable(storage: &Store, agent: &Agent) -> Duration {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(1));
    let next = fixture::renamed(agent, "Next");
    let started_at = Instant::now();
    let (read, write, chat) = tokio::join!(
        storage.agents.find(&tenant, agent.id),
        storage.agents.update(&tenant, &next, &stamp),
        storage.turns.record_completed_turn(first_turn(agent)),
    );
    let took = started_at.elapsed();
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
    let (_database, proxy, storage, agent) = behind_a_proxy().await;
    let tenant = fixture::tenant();
    let mut quickest = Duration::MAX;
    // The test machine may hang, too, but hardly every time.
    for _ in 0..3 {
        storage.agents.find(&tenant, agent.id).await.unwrap();
        proxy.set(ProxyFault::Silent);
        quickest = quickest.min(all_unavailable(&storage, &agent).await);
        proxy.set(ProxyFault::None);
        if quickest < Duration::from_secs(5) {
            break;
        }
    }
    assert!(quickest < Duration::from_secs(5), "{quickest:?}");

    storage.agents.find(&tenant, agent.id).await.unwrap();
    let chat = storage
        .turns
        .record_completed_turn(first_turn(&agent))
        .await
        .unwrap();
    assert!(
        matches!(chat, RecordTurnOutcome::Recorded { .. }),
        "{chat:?}"
    );
}
