//! Tests of the writer with a scripted store.

mod alone;
mod any_command;
mod apply;
mod batches;
mod changes;
mod check;
mod end;
mod known_facts;
mod model;
mod sequences;
mod steps;
mod writing;

use std::{collections::VecDeque, sync::Arc};

use async_trait::async_trait;
use domain::Seq;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use ports::{ConditionalRows, Decided, Decision, Facts, Lane, Transacted};
use tokio::{runtime::Handle, sync::Semaphore, task::JoinHandle};
use tokio_util::task::TaskTracker;

use super::*;
use crate::{
    BeginTurn, Command, CompletedTurn, ConversationTarget, RecordTurnOutcome, Writes, fixture,
};

/// The result of an attempt.
enum Attempt {
    Commits,
    Fails(RepositoryError),
    Unconfirmed,
    Panics,
    Hangs,
}

/// A store without any facts, which takes the results of its group commits from a list and waits for a
/// permit before each. It records every call.
struct ScriptedStore {
    attempts: Mutex<VecDeque<Attempt>>,
    /// The results of the transactions of single commands.
    alone: Mutex<VecDeque<Attempt>>,
    permits: Arc<Semaphore>,
    calls: Calls,
}

/// A call of the store.
#[derive(Debug, Clone, PartialEq)]
struct Call {
    lane: Lane,
    /// The number of new conversations.
    writes: usize,
    in_doubt_since: Option<Heads>,
}

type Calls = Arc<Mutex<Vec<Call>>>;

#[async_trait]
impl WriteStore for ScriptedStore {
    async fn transact(
        &self,
        decision: Arc<dyn Decision>,
        lane: Lane,
    ) -> Result<Transacted, WriteError> {
        let Decided::Read(query) = decision.decide(0, &Facts::default()) else {
            panic!("a decision names its tenants");
        };
        self.calls.lock().push(Call {
            lane,
            writes: query.new_conversations.len(),
            in_doubt_since: query.logged.map(|logged| logged.since),
        });
        let attempts = if lane == Lane::Group {
            self.permits.acquire().await.unwrap().forget();
            &self.attempts
        } else {
            &self.alone
        };
        let next = attempts.lock().pop_front();
        match next.unwrap_or(Attempt::Commits) {
            Attempt::Commits => Ok(without_facts(&*decision)),
            Attempt::Fails(error) => Err(error.into()),
            Attempt::Panics => panic!("panic of the scripted store"),
            Attempt::Hangs => std::future::pending().await,
            Attempt::Unconfirmed => Err(WriteError::Unknown {
                heads: heads(self.calls.lock().len()),
                source: unavailable("cut"),
            }),
        }
    }

    async fn write_if(&self, _write: Arc<ConditionalRows>) -> Result<bool, WriteError> {
        panic!("the scripted store returns no facts")
    }

    fn spawn(&self, writer: BoxFuture<'static, ()>) {
        Handle::current().spawn(writer);
    }
}

/// Lets the decision be made without any facts.
fn without_facts(decision: &dyn Decision) -> Transacted {
    let facts = Facts::default();
    let mut decided = (0..).map(|round| decision.decide(round, &facts));
    let rows = decided.find_map(|decided| match decided {
        Decided::Read(_) => None,
        Decided::Write(rows) => Some(rows),
    });
    Transacted {
        rows: rows.unwrap_or_default(),
        facts,
    }
}

/// Heads that identify the attempt with this number.
fn heads(attempt: usize) -> Heads {
    let seq = Seq(i64::try_from(attempt).unwrap());
    [(fixture::tenant(), seq)].into()
}

/// The outcome of [`write`] without any facts.
fn done() -> RecordTurnOutcome {
    RecordTurnOutcome::AgentNotFound
}

fn corrupt() -> RepositoryError {
    RepositoryError::Corrupt {
        what: "a statement".to_owned(),
        source: "a bad character".into(),
    }
}

/// A write to a conversation of its own.
fn write(number: u32) -> CompletedTurn {
    let agent = fixture::agent(1);
    let conversation = fixture::conversation(number, agent.id);
    let target = ConversationTarget::New(conversation);
    fixture::completed_turn(number, &agent, target)
}

/// The start of a turn in a conversation of its own.
fn begin(number: u32) -> BeginTurn {
    write(number).begin
}

struct Fixture {
    writes: Writes,
    permits: Arc<Semaphore>,
    calls: Calls,
    tasks: TaskTracker,
}

impl Fixture {
    fn start(permits: usize, attempts: impl IntoIterator<Item = Attempt>) -> Self {
        Self::with_attempts_alone(permits, attempts, [])
    }

    fn with_attempts_alone(
        permits: usize,
        attempts: impl IntoIterator<Item = Attempt>,
        alone: impl IntoIterator<Item = Attempt>,
    ) -> Self {
        let permits = Arc::new(Semaphore::new(permits));
        let calls = Calls::default();
        let store = ScriptedStore {
            attempts: Mutex::new(attempts.into_iter().collect()),
            alone: Mutex::new(alone.into_iter().collect()),
            permits: Arc::clone(&permits),
            calls: Arc::clone(&calls),
        };
        let tasks = TaskTracker::new();
        Self {
            writes: Writes::start(Arc::new(store), WriteTimeouts::default(), &tasks),
            permits,
            calls,
            tasks,
        }
    }

    fn submit<C: Command>(&self, command: C) -> JoinHandle<Result<C::Outcome, RepositoryError>> {
        let writes = self.writes.clone();
        self.tasks.spawn(async move { writes.write(command).await })
    }

    /// Waits until the store has been called `times` times.
    async fn called(&self, times: usize) {
        while self.calls.lock().len() < times {
            tokio::task::yield_now().await;
        }
    }

    /// The number of writes of each group commit.
    fn sizes(&self) -> Vec<usize> {
        let calls = self.calls.lock();
        let in_group = calls.iter().filter(|call| call.lane == Lane::Group);
        in_group.map(|call| call.writes).collect()
    }
}
