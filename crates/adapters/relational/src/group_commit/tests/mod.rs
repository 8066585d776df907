//! Tests of the writer with a scripted store.

mod batches;
mod known_facts;
mod model;
mod writing;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use contract::fixture;
use ports::{ConversationTarget, RecordTurnOutcome};
use tokio::sync::Semaphore;

use super::*;

/// The result of an attempt.
enum Attempt {
    Commits,
    Fails(RepositoryError),
    Unconfirmed,
    Panics,
}

/// A store that takes its results from a list and waits for a permit before each. It records
/// every call.
struct ScriptedStore {
    attempts: VecDeque<Attempt>,
    permits: Arc<Semaphore>,
    calls: Calls,
}

/// The number of writes of each call, and its `in_doubt_since`.
type Calls = Arc<Mutex<Vec<(usize, Option<HeadsBefore>)>>>;

#[async_trait]
impl BatchStore for ScriptedStore {
    async fn commit(
        &mut self,
        ops: Arc<[WriteOp]>,
        in_doubt_since: Option<&HeadsBefore>,
    ) -> Result<CommittedBatch, BatchError> {
        self.calls
            .lock()
            .unwrap()
            .push((ops.len(), in_doubt_since.cloned()));
        self.permits.acquire().await.unwrap().forget();
        match self.attempts.pop_front().unwrap_or(Attempt::Commits) {
            Attempt::Commits => Ok(CommittedBatch {
                outcomes: ops.iter().map(|_| Ok(done())).collect(),
                facts: Facts::default(),
                rows: Rows::default(),
            }),
            Attempt::Fails(error) => Err(error.into()),
            Attempt::Panics => panic!("panic of the scripted store"),
            Attempt::Unconfirmed => Err(BatchError::Unknown {
                heads: heads(self.calls.lock().unwrap().len()),
                source: unavailable("cut"),
            }),
        }
    }

    async fn commit_if_current(&mut self, _batch: Arc<PlannedBatch>) -> Result<bool, BatchError> {
        panic!("the scripted store returns no facts")
    }
}

/// Heads that identify the attempt with this number.
fn heads(attempt: usize) -> HeadsBefore {
    let seq = Seq(i64::try_from(attempt).unwrap());
    [(fixture::tenant(), seq)].into()
}

fn done() -> WriteOutcome {
    WriteOutcome::CompletedTurn(RecordTurnOutcome::Busy)
}

fn corrupt() -> RepositoryError {
    RepositoryError::Corrupt {
        what: "a statement".to_owned(),
        source: "a bad character".into(),
    }
}

/// A write to a conversation of its own.
fn op(number: u32) -> WriteOp {
    let agent = fixture::agent(1);
    let conversation = fixture::conversation(number, agent.id);
    let target = ConversationTarget::New(conversation);
    WriteOp::CompletedTurn(Box::new(fixture::completed_turn(number, &agent, target)))
}

/// The start of a turn in a conversation of its own.
fn begin(number: u32) -> WriteOp {
    let agent = fixture::agent(1);
    let conversation = fixture::conversation(number, agent.id);
    let target = ConversationTarget::New(conversation);
    WriteOp::Begin(Box::new(fixture::begin_turn(number, &agent, target)))
}

struct Fixture {
    group: GroupCommit,
    permits: Arc<Semaphore>,
    calls: Calls,
    tasks: TaskTracker,
}

impl Fixture {
    fn start(permits: usize, attempts: impl IntoIterator<Item = Attempt>) -> Self {
        let permits = Arc::new(Semaphore::new(permits));
        let calls = Calls::default();
        let store = ScriptedStore {
            attempts: attempts.into_iter().collect(),
            permits: Arc::clone(&permits),
            calls: Arc::clone(&calls),
        };
        let tasks = TaskTracker::new();
        Self {
            group: GroupCommit::start(store, WriteTimeouts::default(), &tasks, &Handle::current()),
            permits,
            calls,
            tasks,
        }
    }

    fn submit(
        &self,
        op: WriteOp,
    ) -> tokio::task::JoinHandle<Result<WriteOutcome, RepositoryError>> {
        let group = self.group.clone();
        self.tasks.spawn(async move { group.submit(op).await })
    }

    /// Waits until the store has been called `times` times.
    async fn called(&self, times: usize) {
        while self.calls.lock().unwrap().len() < times {
            tokio::task::yield_now().await;
        }
    }

    fn sizes(&self) -> Vec<usize> {
        let calls = self.calls.lock().unwrap();
        calls.iter().map(|(size, _)| *size).collect()
    }
}
