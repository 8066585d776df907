//! The turns that this process runs, and those that somebody here waits for.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use domain::{AgentId, ConversationId, NodeId, ProblemCode, TenantId, TurnId};

use super::live_turn::{LiveTurn, TurnOutcome, TurnSubject};

/// The turns that this process runs, and those that somebody here waits for: each is known for as
/// long as somebody holds it.
#[derive(Default)]
pub struct LiveTurns {
    turns: Mutex<HashMap<TurnId, Weak<LiveTurn>>>,
}

impl LiveTurns {
    /// The turn, if it is known here.
    pub fn get(&self, id: TurnId) -> Option<Arc<LiveTurn>> {
        self.lock().get(&id).and_then(Weak::upgrade)
    }

    /// The turn, known from now on if it was not.
    pub fn enter(self: &Arc<Self>, subject: TurnSubject) -> Arc<LiveTurn> {
        let mut turns = self.lock();
        if let Some(known) = turns.get(&subject.turn_id).and_then(Weak::upgrade) {
            return known;
        }
        let id = subject.turn_id;
        let turn = Arc::new(LiveTurn::new(subject, Arc::downgrade(self)));
        turns.insert(id, Arc::downgrade(&turn));
        turn
    }

    /// Those that are known and for which `is_wanted` holds.
    pub fn matching(&self, is_wanted: impl Fn(&TurnSubject) -> bool) -> Vec<Arc<LiveTurn>> {
        self.all()
            .into_iter()
            .filter(|turn| is_wanted(turn.subject()))
            .collect()
    }

    /// Looks at a turn again, of which the log says that somebody else has changed it. What this
    /// process runs of it is stopped when it has ended.
    pub fn changed_elsewhere(&self, id: TurnId, has_ended: bool) {
        if let Some(turn) = self.get(id) {
            if has_ended {
                turn.stop();
            }
            turn.wake();
        }
    }

    /// Stops the engines of a deleted agent: its turns have ended with it.
    pub fn stop_of_agent(&self, tenant: &TenantId, id: AgentId) {
        self.stop(|subject| subject.tenant == *tenant && subject.agent_id == id);
    }

    /// Stops the engines of a deleted conversation: its turns have ended with it.
    pub fn stop_of_conversation(&self, tenant: &TenantId, id: ConversationId) {
        self.stop(|subject| subject.tenant == *tenant && subject.conversation_id == id);
    }

    fn stop(&self, is_gone: impl Fn(&TurnSubject) -> bool) {
        for turn in self.matching(is_gone) {
            turn.stop();
            turn.end(TurnOutcome::Cancelled);
        }
    }

    /// Interrupts every turn that runs here under `node`: it was taken for dead, and its turns are
    /// ended by others.
    pub fn interrupt_under(&self, node: NodeId) {
        for turn in self.all() {
            if turn.runs_under() == Some(node) {
                turn.interrupt();
            }
        }
    }

    /// Interrupts every turn that runs here: the process ends.
    pub fn interrupt_all(&self) {
        for turn in self.all() {
            if turn.runs_under().is_some() {
                turn.interrupt();
            }
        }
    }

    /// Whether this process runs a turn, or is about to.
    pub fn runs(&self, id: TurnId) -> bool {
        self.get(id)
            .is_some_and(|turn| turn.runs_under().is_some() || !turn.was_stored())
    }

    /// How many turns run here.
    pub fn running(&self) -> usize {
        let runs = |turn: &Arc<LiveTurn>| turn.runs_under().is_some() && !turn.has_ended();
        self.all().iter().filter(|turn| runs(turn)).count()
    }

    /// Those that wait in a queue while somebody here waits for their reply.
    pub fn queued(&self) -> Vec<Arc<LiveTurn>> {
        let mut turns = self.all();
        turns.retain(|turn| turn.is_queued());
        turns
    }

    pub(super) fn forget(&self, id: TurnId) {
        let mut turns = self.lock();
        // Another may have come in its place since.
        if turns.get(&id).is_some_and(|turn| turn.strong_count() == 0) {
            turns.remove(&id);
        }
    }

    fn all(&self) -> Vec<Arc<LiveTurn>> {
        self.lock().values().filter_map(Weak::upgrade).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TurnId, Weak<LiveTurn>>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The outcome of a turn that its process could not bring to an end.
pub(crate) fn interrupted() -> TurnOutcome {
    TurnOutcome::Failed(ProblemCode::Interrupted.into())
}
