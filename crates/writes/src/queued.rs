//! A command in the queue of the writer.

use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;
use ports::{Facts, FactsQuery, RepositoryError};
use tokio::sync::oneshot;

use crate::{Command, Planned, Planner, Scope};

const WAITING: u8 = 0;
const TAKEN: u8 = 1;
const WITHDRAWN: u8 = 2;

type Outcome<C> = Result<<C as Command>::Outcome, RepositoryError>;

/// A command and its outcome, for which a caller may wait.
pub(crate) struct Queued<C: Command> {
    command: C,
    scope: Scope,
    state: AtomicU8,
    /// The outcome of the last plan.
    planned: Mutex<Option<Outcome<C>>>,
    caller: Mutex<Option<oneshot::Sender<Outcome<C>>>>,
}

impl<C: Command> Queued<C> {
    /// Returns the command with the receiver of its outcome.
    pub(crate) fn new(command: C) -> (Self, oneshot::Receiver<Outcome<C>>) {
        let (caller, outcome) = oneshot::channel();
        let queued = Self {
            caller: Mutex::new(Some(caller)),
            ..Self::without_caller(command)
        };
        (queued, outcome)
    }

    /// Returns a command that is never in a queue; its outcome is taken with [`Self::take_planned`].
    pub(crate) fn without_caller(command: C) -> Self {
        Self {
            scope: command.scope(),
            command,
            state: AtomicU8::new(WAITING),
            planned: Mutex::new(None),
            caller: Mutex::new(None),
        }
    }

    /// Takes the outcome of the last plan.
    pub(crate) fn take_planned(&self) -> Option<Outcome<C>> {
        self.planned.lock().take()
    }

    /// Takes the command out of the queue; returns false if its transaction has begun.
    pub(crate) fn withdraw(&self) -> bool {
        self.leave_queue(WITHDRAWN)
    }

    fn leave_queue(&self, state: u8) -> bool {
        // The writer takes a command, and a caller whose time is over withdraws it. Only one of them
        // succeeds: a command that its caller reports as failed in the queue never runs.
        let left = self
            .state
            .compare_exchange(WAITING, state, Ordering::AcqRel, Ordering::Acquire);
        left.is_ok()
    }

    fn send(&self, outcome: Outcome<C>) {
        if let Some(caller) = self.caller.lock().take() {
            // A caller that was dropped reads the state from the store.
            drop(caller.send(outcome));
        }
    }
}

/// A [`Queued`] command of any kind.
pub(crate) trait AnyQueued: Send + Sync {
    fn scope(&self) -> &Scope;

    /// Returns false if it was withdrawn, or nobody waits for it.
    fn is_needed(&self) -> bool;

    /// Marks it as taken, unless it was withdrawn. From then on it cannot be withdrawn.
    fn take(&self) -> bool;

    fn needs(&self, query: &mut FactsQuery);

    fn needs_more(&self, facts: &Facts, query: &mut FactsQuery);

    /// Plans it, and keeps the outcome for [`Self::deliver`]. Returns whether it is applied.
    fn plan(&self, planner: &mut Planner<'_>, is_in_doubt: bool) -> bool;

    /// Sends the outcome of the last plan, which is committed.
    fn deliver(&self);

    /// Sends an error.
    fn fail(&self, error: RepositoryError);
}

impl<C: Command> AnyQueued for Queued<C> {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn is_needed(&self) -> bool {
        let has_caller = |caller: &oneshot::Sender<_>| !caller.is_closed();
        self.state.load(Ordering::Acquire) == WAITING
            && self.caller.lock().as_ref().is_some_and(has_caller)
    }

    fn take(&self) -> bool {
        self.leave_queue(TAKEN)
    }

    fn needs(&self, query: &mut FactsQuery) {
        if self.command.uses_log() {
            query.tenants.insert(self.scope.tenant.clone());
        }
        self.command.needs(query);
    }

    fn needs_more(&self, facts: &Facts, query: &mut FactsQuery) {
        self.command.needs_more(facts, query);
    }

    fn plan(&self, planner: &mut Planner<'_>, is_in_doubt: bool) -> bool {
        let stored = is_in_doubt.then(|| self.command.stored(planner.facts));
        let decided = match stored.flatten() {
            Some(outcome) => Ok(Planned::Applied(outcome)),
            None => self.command.plan(planner),
        };
        let is_applied = matches!(decided, Ok(Planned::Applied(_)));
        *self.planned.lock() = Some(decided.map(Planned::into_outcome));
        is_applied
    }

    fn deliver(&self) {
        if let Some(outcome) = self.take_planned() {
            self.send(outcome);
        }
    }

    fn fail(&self, error: RepositoryError) {
        self.send(Err(error));
    }
}
