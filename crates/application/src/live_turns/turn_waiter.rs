//! Waiting for a turn of this or another process.

use std::{sync::Arc, time::Duration};

use ports::{RepositoryError, TurnRepository};
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use super::{
    live_turn::{Interest, LiveTurn},
    progress::TurnOutcome,
};

/// Waits for a turn of this or another process.
pub(crate) struct TurnWaiter {
    pub(crate) live: Arc<LiveTurn>,
    woken: Arc<Notify>,
    turns: Arc<dyn TurnRepository>,
}

impl TurnWaiter {
    /// Creates a waiter for the start and the end of the turn.
    pub(crate) fn new(live: Arc<LiveTurn>, turns: Arc<dyn TurnRepository>) -> Self {
        let woken = Arc::new(Notify::new());
        live.listen(&woken, Interest::State);
        Self { live, woken, turns }
    }

    /// Waits for the growth of the reply, too.
    pub(crate) fn follow_reply(&self) {
        self.live.listen(&self.woken, Interest::Reply);
    }

    /// Waits until the turn may have changed.
    pub(crate) async fn changed(&mut self) -> Result<(), RepositoryError> {
        let woken = self.woken.notified();
        if self.live.local_node().is_some() {
            woken.await;
            return Ok(());
        }
        // The state of a turn of another process is only in the store.
        let _woken = timeout_at(self.live.next_poll(), woken).await;
        if self.live.local_node().is_some()
            || self.live.has_ended()
            || !self.live.begin_poll_if_due()
        {
            return Ok(());
        }
        let polled = self.poll_store().await;
        match self.live.record_poll(polled.is_ok()) {
            PollBudget::Left => Ok(()),
            PollBudget::Exhausted => polled,
        }
    }

    /// Reads the turn's current state.
    async fn poll_store(&self) -> Result<(), RepositoryError> {
        let subject = self.live.subject();
        let found = self.turns.find(&subject.tenant, subject.turn_id).await?;
        match found.value {
            Some(found) => self.live.apply_stored(found),
            // Only deleted turns are removed.
            None => self.live.end(TurnOutcome::Cancelled),
        }
        Ok(())
    }
}

/// The interval at which the store is polled for a turn of another process. The event log reports
/// changes earlier, so this is only the upper bound.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The longest time for which the store may be unavailable before the waiters get an error.
pub(crate) const MAX_OUTAGE: Duration = Duration::from_secs(5);

/// The schedule of the polls of a turn, which its waiters share: each poll is made by one of them.
#[derive(Debug)]
pub(crate) struct StorePoller {
    last: Instant,
    /// True if the event log has reported a change since the last poll.
    is_requested: bool,
    unavailable_since: Option<Instant>,
}

/// The decision whether the waiters of a turn continue to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PollBudget {
    /// They continue.
    Left,
    /// The store has been unavailable for too long.
    Exhausted,
}

impl StorePoller {
    /// Creates a poller of a turn whose current state is known.
    pub(crate) fn new() -> Self {
        Self {
            last: Instant::now(),
            is_requested: false,
            unavailable_since: None,
        }
    }

    /// Returns the time at which the next poll is due.
    pub(crate) fn next_poll(&self) -> Instant {
        self.last + POLL_INTERVAL
    }

    /// Makes the next poll due at once.
    pub(crate) fn request(&mut self) {
        self.is_requested = true;
    }

    /// Begins a poll on behalf of all waiters if one is due, and returns whether it was. After a
    /// long outage every waiter polls, so that each gets the error.
    pub(crate) fn begin_if_due(&mut self) -> bool {
        let is_due = self.is_requested || self.next_poll() <= Instant::now() || self.is_exhausted();
        if is_due {
            self.last = Instant::now();
            self.is_requested = false;
        }
        is_due
    }

    /// Records whether the store has answered.
    pub(crate) fn record(&mut self, has_answered: bool) -> PollBudget {
        if has_answered {
            self.unavailable_since = None;
        } else {
            self.unavailable_since.get_or_insert_with(Instant::now);
        }
        if self.is_exhausted() {
            PollBudget::Exhausted
        } else {
            PollBudget::Left
        }
    }

    fn is_exhausted(&self) -> bool {
        self.unavailable_since
            .is_some_and(|since| since.elapsed() > MAX_OUTAGE)
    }
}
