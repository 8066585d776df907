use contract::fixture;
use domain::{Agent, Conversation, Seq};
use ports::{
    BeginTurn, ConversationTarget, FinishOutcome, FirstMessages, RecordTurnOutcome,
    RepositoryError, Storage, TurnEnding,
};
use relational::WriteOutcome;
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

use super::*;
use crate::{SqliteOptions, SqliteStore};

/// A store with node 1, an agent, and conversation 1 of that agent.
struct Fixture {
    batches: SqliteBatchStore,
    storage: Storage,
    agent: Agent,
    conversation: Conversation,
    _folder: TempDir,
}

impl Fixture {
    async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let url = format!("sqlite://{}/test.db", folder.path().display());
        let store = SqliteStore::open(&url, SqliteOptions::default(), &TaskTracker::new())
            .await
            .unwrap();
        store.migrate().await.unwrap();
        let storage = store.storage();
        let (tenant, stamp, agent) = (fixture::tenant(), fixture::stamp(0), fixture::agent(1));
        storage
            .nodes
            .insert(
                fixture::node_id(1),
                &fixture::process(),
                crate::writer::CALL_TIMEOUT,
            )
            .await
            .unwrap();
        storage
            .agents
            .insert(&tenant, &agent, &stamp, None)
            .await
            .unwrap();
        let conversation = fixture::conversation(1, agent.id);
        let inserted = storage.conversations.insert(
            &tenant,
            &conversation,
            &FirstMessages::None,
            &stamp,
            None,
        );
        inserted.await.unwrap();
        Self {
            batches: SqliteBatchStore {
                writer: store.writer.clone(),
            },
            storage,
            agent,
            conversation,
            _folder: folder,
        }
    }

    fn begin_turn(&self, number: u32, turn_count: i64) -> BeginTurn {
        let target = fixture::existing(&self.conversation, turn_count);
        fixture::begin_turn(number, &self.agent, target)
    }

    fn turn_in_new_conversation(&self, number: u32) -> WriteOp {
        let conversation = fixture::conversation(number, self.agent.id);
        let target = ConversationTarget::New(conversation);
        WriteOp::CompletedTurn(Box::new(fixture::completed_turn(
            number,
            &self.agent,
            target,
        )))
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
async fn stored_writes_of_an_attempt_in_doubt_are_reported_and_not_written_again() {
    let mut fixture = Fixture::new().await;
    let running = fixture.begin_turn(2, 0);
    let waiting = fixture.begin_turn(3, 0);
    let outcomes = fixture
        .batches
        .commit([WriteOp::Begin(Box::new(running.clone()))].into(), None)
        .await;
    assert!(outcomes.unwrap().outcomes[0].is_ok());
    fixture
        .batches
        .commit([WriteOp::Begin(Box::new(waiting))].into(), None)
        .await
        .unwrap();

    let before = fixture.heads().await;
    let ending = TurnEnding::Completed(fixture::reply(2));
    let ops = [
        WriteOp::Finish(Box::new(fixture::finish(&running, ending))),
        fixture.turn_in_new_conversation(4),
    ];
    let first = fixture
        .batches
        .commit(ops.clone().into(), None)
        .await
        .unwrap();
    let after = fixture.heads().await;
    let second = fixture
        .batches
        .commit(ops.clone().into(), Some(&before))
        .await
        .unwrap();

    let outcomes = |batch: CommittedBatch| -> Vec<WriteOutcome> {
        batch.outcomes.into_iter().map(Result::unwrap).collect()
    };
    let first = outcomes(first);
    assert!(matches!(
        first.as_slice(),
        [
            WriteOutcome::Finish(FinishOutcome::Finished {
                promoted: Some(_),
                ..
            }),
            WriteOutcome::CompletedTurn(RecordTurnOutcome::Recorded { .. }),
        ]
    ));
    assert_eq!(outcomes(second), first);
    assert_eq!(fixture.heads().await, after);
}

#[tokio::test]
async fn writes_that_an_attempt_in_doubt_did_not_store_are_committed() {
    let mut fixture = Fixture::new().await;
    let before = fixture.heads().await;
    let ops = [fixture.turn_in_new_conversation(2)];
    let batch = fixture
        .batches
        .commit(ops.clone().into(), Some(&before))
        .await
        .unwrap();
    let Ok(WriteOutcome::CompletedTurn(RecordTurnOutcome::Recorded { committed, .. })) =
        &batch.outcomes[0]
    else {
        panic!("{batch:?}");
    };
    assert_eq!(committed.last, Seq(before[&fixture::tenant()].0 + 3));
}

#[tokio::test]
async fn a_batch_with_rejected_data_writes_nothing_and_its_writes_can_be_retried_singly() {
    let mut fixture = Fixture::new().await;
    let stored = fixture.turn_in_new_conversation(2);
    fixture
        .batches
        .commit([stored.clone()].into(), None)
        .await
        .unwrap();
    let before = fixture.heads().await;

    let mut same_turn = fixture.turn_in_new_conversation(3);
    if let WriteOp::CompletedTurn(completed_turn) = &mut same_turn {
        completed_turn.begin.turn_id = stored.begin_turn().unwrap().turn_id;
    }
    let ops = [fixture.turn_in_new_conversation(4), same_turn];
    let Err(BatchError::Failed(error)) = fixture.batches.commit(ops.clone().into(), None).await
    else {
        panic!("the same turn is stored twice");
    };
    assert!(
        matches!(error, RepositoryError::Corrupt { .. }),
        "{error:?}"
    );
    assert_eq!(fixture.heads().await, before);
}
