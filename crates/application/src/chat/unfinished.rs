//! How many finished turns wait for an absent store.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// Finished turns that may wait; with more, no new ones are taken.
const MOST_TURNS: usize = 1_000;
/// Bytes of their replies.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// How many finished turns wait for an absent store, and how much memory they hold.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    turns: AtomicUsize,
    bytes: AtomicUsize,
}

/// One of them, until it is dropped.
pub(super) struct UnfinishedTurn {
    all: Arc<Unfinished>,
    bytes: usize,
}

impl Unfinished {
    /// Whether no more fit.
    pub(super) fn is_full(&self) -> bool {
        self.turns.load(Ordering::Relaxed) >= MOST_TURNS
            || self.bytes.load(Ordering::Relaxed) >= MOST_BYTES
    }

    /// Counts one more.
    pub(super) fn enter(self: &Arc<Self>, bytes: usize) -> UnfinishedTurn {
        self.turns.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        UnfinishedTurn {
            all: Arc::clone(self),
            bytes,
        }
    }
}

impl Drop for UnfinishedTurn {
    fn drop(&mut self) {
        self.all.turns.fetch_sub(1, Ordering::Relaxed);
        self.all.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_turns_or_64_mib_are_full() {
        let unfinished = Arc::new(Unfinished::default());
        let mut waiting: Vec<_> = (0..MOST_TURNS - 1).map(|_| unfinished.enter(1)).collect();
        assert!(!unfinished.is_full());
        waiting.push(unfinished.enter(1));
        assert!(unfinished.is_full());
        drop(waiting);
        assert!(!unfinished.is_full());
        let large = unfinished.enter(MOST_BYTES);
        assert!(unfinished.is_full());
        drop(large);
        assert!(!unfinished.is_full());
    }
}
