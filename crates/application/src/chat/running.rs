//! The turns that this process runs.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use domain::TurnId;
use tokio_util::sync::CancellationToken;

/// What a running turn has said so far.
#[derive(Debug, Default, Clone)]
pub struct Said {
    /// The engine that speaks.
    pub engine: String,
    /// Whether it is a fallback.
    pub degraded: bool,
    /// The text so far.
    pub text: String,
}

/// A turn that this process runs.
#[derive(Clone, Default)]
pub struct RunningTurn {
    /// Stops its engine.
    pub stop: CancellationToken,
    /// Set when it is stopped because the process ends, not because somebody cancelled it.
    interrupted: Arc<AtomicBool>,
    said: Arc<Mutex<Said>>,
}

impl RunningTurn {
    /// Whether it was stopped because the process ends.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Acquire)
    }

    /// What it has said so far.
    pub fn said(&self) -> MutexGuard<'_, Said> {
        // Text is whole after every push, also after a panic elsewhere.
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turns that this process runs, so that a cancellation can reach them.
#[derive(Default)]
pub struct RunningTurns {
    turns: Mutex<HashMap<TurnId, RunningTurn>>,
}

impl RunningTurns {
    /// The turn, if it runs here.
    pub fn get(&self, id: TurnId) -> Option<RunningTurn> {
        self.lock().get(&id).cloned()
    }

    /// Stops every engine: the process ends, and the turns fail as interrupted.
    pub fn interrupt_all(&self) {
        for turn in self.lock().values() {
            turn.interrupted.store(true, Ordering::Release);
            turn.stop.cancel();
        }
    }

    /// Notes a turn for as long as the guard lives.
    pub(super) fn enter(self: &Arc<Self>, id: TurnId) -> (RunningTurn, RunningGuard) {
        let turn = RunningTurn::default();
        self.lock().insert(id, turn.clone());
        (
            turn,
            RunningGuard {
                turns: Arc::clone(self),
                id,
            },
        )
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TurnId, RunningTurn>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets a turn when it has ended, however it ended.
pub(super) struct RunningGuard {
    turns: Arc<RunningTurns>,
    id: TurnId,
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.turns.lock().remove(&self.id);
    }
}
