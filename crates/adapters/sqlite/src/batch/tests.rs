use contract::samples;
use domain::{Agent, Conversation, Seq};
use ports::{
    BeginTurn, ExchangeOutcome, ExchangeTarget, FinishOutcome, RepositoryError, Storage, TurnEnding,
};
use relational::Outcome;
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

use super::*;
use crate::{SqliteOptions, SqliteStore};

/// A store with node 1, an agent, and conversation 1 of that agent.
struct Given {
    batches: SqliteBatches,
    storage: Storage,
    agent: Agent,
    conversation: Conversation,
    _folder: TempDir,
}

impl Given {
    async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let url = format!("sqlite://{}/test.db", folder.path().display());
        let store = SqliteStore::open(&url, SqliteOptions::default(), &TaskTracker::new())
            .await
            .unwrap();
        store.migrate().await.unwrap();
        let storage = store.storage();
        let (tenant, stamp, agent) = (samples::tenant(), samples::stamp(0), samples::agent(1));
        storage
            .nodes
            .insert(samples::node_id(1), crate::writer::CALL_LIMIT)
            .await
            .unwrap();
        storage
            .agents
            .insert(&tenant, &agent, &stamp, None)
            .await
            .unwrap();
        let conversation = samples::conversation(1, agent.id);
        let inserted = storage
            .conversations
            .insert(&tenant, &conversation, None, &stamp, None);
        inserted.await.unwrap();
        Self {
            batches: SqliteBatches {
                writer: store.writer.clone(),
            },
            storage,
            agent,
            conversation,
            _folder: folder,
        }
    }

    fn question(&self, number: u32, turn_count: i64) -> BeginTurn {
        let target = samples::existing(&self.conversation, turn_count);
        samples::question(number, &self.agent, target)
    }

    fn exchange_in_new_conversation(&self, number: u32) -> Item {
        let conversation = samples::conversation(number, self.agent.id);
        let target = ExchangeTarget::New(conversation);
        Item::Exchange(Box::new(samples::exchange(number, &self.agent, target)))
    }

    async fn heads(&self) -> HeadsBefore {
        let heads = self.storage.events.heads().await.unwrap();
        heads
            .into_iter()
            .map(|log| (log.tenant, log.head))
            .collect()
    }
}

#[tokio::test]
async fn what_an_attempt_in_doubt_has_stored_is_answered_and_not_written_again() {
    let mut given = Given::new().await;
    let running = given.question(2, 0);
    let waiting = given.question(3, 0);
    let begun = given
        .batches
        .commit([Item::Begin(Box::new(running.clone()))].into(), None)
        .await;
    assert!(begun.unwrap()[0].is_ok());
    given
        .batches
        .commit([Item::Begin(Box::new(waiting))].into(), None)
        .await
        .unwrap();

    let before = given.heads().await;
    let ending = TurnEnding::Completed(samples::reply(2));
    let items = [
        Item::Finish(Box::new(samples::finish(&running, ending))),
        given.exchange_in_new_conversation(4),
    ];
    let first = given
        .batches
        .commit(items.clone().into(), None)
        .await
        .unwrap();
    let after = given.heads().await;
    let second = given
        .batches
        .commit(items.clone().into(), Some(&before))
        .await
        .unwrap();

    let outcomes =
        |outcomes: Outcomes| -> Vec<Outcome> { outcomes.into_iter().map(Result::unwrap).collect() };
    let first = outcomes(first);
    assert!(matches!(
        first.as_slice(),
        [
            Outcome::Finish(FinishOutcome::Finished {
                promoted: Some(_),
                ..
            }),
            Outcome::Exchange(ExchangeOutcome::Recorded { .. }),
        ]
    ));
    assert_eq!(outcomes(second), first);
    assert_eq!(given.heads().await, after);
}

#[tokio::test]
async fn what_an_attempt_in_doubt_has_not_stored_is_carried_out() {
    let mut given = Given::new().await;
    let before = given.heads().await;
    let items = [given.exchange_in_new_conversation(2)];
    let outcomes = given
        .batches
        .commit(items.clone().into(), Some(&before))
        .await
        .unwrap();
    let Ok(Outcome::Exchange(ExchangeOutcome::Recorded { committed, .. })) = &outcomes[0] else {
        panic!("{outcomes:?}");
    };
    assert_eq!(committed.last, Seq(before[&samples::tenant()].0 + 3));
}

#[tokio::test]
async fn a_batch_with_refused_data_writes_nothing_and_is_worth_running_singly() {
    let mut given = Given::new().await;
    let used = given.exchange_in_new_conversation(2);
    given
        .batches
        .commit([used.clone()].into(), None)
        .await
        .unwrap();
    let before = given.heads().await;

    let mut same_turn = given.exchange_in_new_conversation(3);
    if let Item::Exchange(exchange) = &mut same_turn {
        exchange.question.turn_id = used.turn_id();
    }
    let items = [given.exchange_in_new_conversation(4), same_turn];
    let Err(BatchError::Failed(error)) = given.batches.commit(items.clone().into(), None).await
    else {
        panic!("the same turn is stored twice");
    };
    assert!(
        matches!(error, RepositoryError::Corrupt { .. }),
        "{error:?}"
    );
    assert_eq!(given.heads().await, before);
}
