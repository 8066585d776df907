//! When the store is asked how far a turn has come that runs elsewhere.

use std::time::Duration;

use tokio::time::Instant;

/// How often the store is asked for a turn that does not run here: the log tells of its changes
/// too, so that this is only the bound.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// For how long the store may be away before those who wait are told so.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// When the store is asked for a turn, by one of those who wait for it on behalf of all.
#[derive(Debug)]
pub(super) struct Looks {
    last: Instant,
    /// Whether there is word of the turn since the last look.
    is_called_for: bool,
    away_since: Option<Instant>,
}

/// Whether those who wait go on doing so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// They do.
    Left,
    /// The store has been away for too long.
    Over,
}

impl Looks {
    /// Of a turn that is known as it is at this moment.
    pub(super) fn new() -> Self {
        Self {
            last: Instant::now(),
            is_called_for: false,
            away_since: None,
        }
    }

    /// When the next one is due at the latest.
    pub(super) fn next(&self) -> Instant {
        self.last + LOOK_AGAIN
    }

    /// There is word of the turn: the next one who waits looks at once.
    pub(super) fn call_for(&mut self) {
        self.is_called_for = true;
    }

    /// Whether whoever asks is to look; the others need not then. When the store has been away for
    /// too long each of them does, to be told so.
    pub(super) fn take(&mut self) -> bool {
        let is_due = self.is_called_for || self.next() <= Instant::now() || self.is_over();
        if is_due {
            self.last = Instant::now();
            self.is_called_for = false;
        }
        is_due
    }

    /// Notes whether the store has answered.
    pub(super) fn note(&mut self, has_answered: bool) -> Patience {
        if has_answered {
            self.away_since = None;
        } else {
            self.away_since.get_or_insert_with(Instant::now);
        }
        if self.is_over() {
            Patience::Over
        } else {
            Patience::Left
        }
    }

    fn is_over(&self) -> bool {
        self.away_since
            .is_some_and(|since| since.elapsed() > PATIENCE)
    }
}
