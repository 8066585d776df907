//! The starts of turns in this process, while other nodes have readers of replies.

use std::{
    mem::take,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::LiveTurn;

/// The starts of turns in this process, recorded only while other nodes have readers of replies.
#[derive(Default)]
pub(crate) struct LocalTurnStarts {
    is_watched: AtomicBool,
    turns: Mutex<Vec<Weak<LiveTurn>>>,
    reported: Notify,
}

impl LocalTurnStarts {
    /// Starts or stops recording.
    pub(crate) fn watch(&self, is_watched: bool) {
        self.is_watched.store(is_watched, Ordering::SeqCst);
        if !is_watched {
            self.turns.lock().clear();
        }
    }

    /// Records the start of a turn.
    pub(crate) fn report(&self, turn: &Arc<LiveTurn>) {
        if self.is_watched.load(Ordering::SeqCst) {
            self.turns.lock().push(Arc::downgrade(turn));
            self.reported.notify_one();
        }
    }

    /// Waits for starts, and returns them.
    pub(crate) async fn next(&self) -> Vec<Arc<LiveTurn>> {
        self.reported.notified().await;
        let turns = take(&mut *self.turns.lock());
        turns.iter().filter_map(Weak::upgrade).collect()
    }
}
