//! The state of a turn in this process, until it ends.

mod remote_updates;

use std::sync::{Arc, Weak};

use domain::{NodeId, TurnStarted, TurnStep};
use parking_lot::{Mutex, MutexGuard};
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    progress::{Progress, TurnOutcome},
    registry::{LiveTurns, TurnSubject},
    turn_waiter::{PollBudget, StorePoller},
};
use crate::engines::{PartialReply, ReplySink, TurnOrigin};

/// The changes of a turn for which a listener is woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Every change, including the growth of the reply.
    Reply,
    /// The start and the end of the turn.
    State,
}

struct Listener {
    woken: Weak<Notify>,
    interest: Interest,
}

/// A turn that this process runs or waits for.
pub struct LiveTurn {
    subject: Arc<TurnSubject>,
    /// Stops the engine of the current run; it is replaced if the turn goes on after that.
    stop: Mutex<CancellationToken>,
    progress: Mutex<Progress>,
    listeners: Mutex<Vec<Listener>>,
    poller: Mutex<StorePoller>,
    turns: Weak<LiveTurns>,
}

impl LiveTurn {
    pub(crate) fn new(subject: TurnSubject, turns: Weak<LiveTurns>) -> Self {
        Self {
            subject: Arc::new(subject),
            stop: Mutex::default(),
            progress: Mutex::default(),
            listeners: Mutex::default(),
            poller: Mutex::new(StorePoller::new()),
            turns,
        }
    }

    /// Returns the turn's ids.
    pub fn subject(&self) -> &TurnSubject {
        &self.subject
    }

    /// Returns the turn's ids, shared.
    pub(crate) fn shared_subject(&self) -> Arc<TurnSubject> {
        Arc::clone(&self.subject)
    }

    /// Locks the turn's progress.
    pub fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock()
    }

    /// Wakes `listener` whenever something of interest changes, for as long as it lives. A listener
    /// that is registered again gets the new interest.
    pub fn listen(&self, listener: &Arc<Notify>, interest: Interest) {
        let woken = Arc::downgrade(listener);
        let mut listeners = self.listeners.lock();
        listeners.retain(|known| known.woken.strong_count() > 0 && !known.woken.ptr_eq(&woken));
        listeners.push(Listener { woken, interest });
    }

    /// Wakes all listeners.
    pub fn wake(&self) {
        self.wake_those(|_| true);
    }

    fn wake_those(&self, is_interested: impl Fn(Interest) -> bool) {
        for listener in self.listeners.lock().iter() {
            if is_interested(listener.interest)
                && let Some(woken) = listener.woken.upgrade()
            {
                woken.notify_one();
            }
        }
    }

    /// Makes one of the waiters poll the store, after a change that this process did not make.
    pub(crate) fn request_poll(&self) {
        self.poller.lock().request();
        self.wake();
    }

    /// Returns the time at which the next poll is due, if the turn does not run here.
    pub(crate) fn next_poll(&self) -> Instant {
        self.poller.lock().next_poll()
    }

    /// Begins a poll by the calling waiter if one is due, and returns whether it was.
    pub(crate) fn begin_poll_if_due(&self) -> bool {
        self.poller.lock().begin_if_due()
    }

    /// Records whether the store has answered a poll.
    pub(crate) fn record_poll(&self, has_answered: bool) -> PollBudget {
        self.poller.lock().record(has_answered)
    }

    /// Returns the node id under which this process runs the turn, if it runs it.
    pub fn local_node(&self) -> Option<NodeId> {
        self.progress().local_node
    }

    /// Returns whether the turn has ended, as far as this process knows.
    pub fn has_ended(&self) -> bool {
        self.progress().outcome.is_some()
    }

    /// Returns whether the turn has begun to wait for an answer.
    pub(crate) fn has_waited(&self) -> bool {
        matches!(
            self.progress().outcome,
            Some(TurnOutcome::RequiresAction(_))
        )
    }

    /// Returns whether the turn has ended, or another node runs it and its end is in the log.
    pub fn is_over(&self) -> bool {
        let progress = self.progress();
        let was_stopped = || progress.local_node.is_none() && self.stopped().is_cancelled();
        progress.outcome.is_some() || was_stopped()
    }

    /// Returns whether anyone waits for changes of the turn.
    pub(crate) fn has_listeners(&self) -> bool {
        let listeners = self.listeners.lock();
        listeners.iter().any(|known| known.woken.strong_count() > 0)
    }

    /// Returns whether the turn is queued, as far as this process knows.
    pub fn is_queued(&self) -> bool {
        let progress = self.progress();
        progress.was_queued && progress.started.is_none() && progress.outcome.is_none()
    }

    /// Returns whether this process runs the turn or is about to start it.
    pub(crate) fn is_local(&self) -> bool {
        let progress = self.progress();
        let was_stored =
            progress.was_queued || progress.started.is_some() || progress.outcome.is_some();
        progress.local_node.is_some() || !was_stored
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.progress().is_interrupted
    }

    /// Returns the token that is cancelled when the engine is to stop.
    pub(crate) fn stopped(&self) -> CancellationToken {
        self.stop.lock().clone()
    }

    /// Stops the engine of a turn that has ended.
    pub fn stop(&self) {
        self.stopped().cancel();
    }

    /// Stops the engine here, and leaves the turn to another process, or to this one later.
    pub(crate) fn interrupt(&self) {
        self.progress().is_interrupted = true;
        self.stop();
    }

    /// Forgets that the turn was stopped, if it goes on.
    fn renew(&self, progress: &mut Progress) {
        progress.is_interrupted = false;
        *self.stop.lock() = CancellationToken::new();
    }

    /// Returns the reply so far, for a cancellation to store. Later text is withheld from clients
    /// until the result of the cancellation is known.
    pub(crate) fn hold_text(&self) -> PartialReply {
        let mut progress = self.progress();
        progress.hold();
        progress.reply.clone()
    }

    /// Ends the withholding of text, after a cancellation that failed.
    pub(crate) fn release_text(&self) {
        self.progress().release();
        self.wake();
    }

    pub(crate) fn mark_queued(&self) {
        self.update(|progress| !std::mem::replace(&mut progress.was_queued, true));
    }

    /// Records that this process has queued the turn.
    pub(crate) fn mark_queued_here(&self) {
        self.progress().is_queued_here = true;
        self.mark_queued();
    }

    /// Sets the node id under which this process runs the turn; `None` if it no longer runs it, and
    /// only the store knows its state.
    pub(crate) fn set_local_node(&self, node: Option<NodeId>) {
        if node.is_none() {
            self.poller.lock().request();
        }
        self.update(|progress| {
            if node.is_none() && progress.is_interrupted && progress.outcome.is_none() {
                self.renew(progress);
            }
            std::mem::replace(&mut progress.local_node, node) != node
        });
    }

    pub(crate) fn mark_started(&self, started: TurnStarted) {
        self.update(|progress| {
            let is_new = progress.started.as_ref() != Some(&started);
            progress.started = Some(started);
            is_new
        });
    }

    /// Prepares a turn that is resumed here, perhaps after it was interrupted here. Its readers receive
    /// the reply from the start.
    pub(crate) fn resume(&self, journal: &[TurnStep]) {
        let mut progress = self.progress();
        progress.reply = PartialReply::resumed(journal);
        if progress.outcome.is_none() {
            self.renew(&mut progress);
        }
        drop(progress);
        self.notify();
    }

    /// Ends the turn; later ends are ignored.
    pub fn end(&self, outcome: TurnOutcome) {
        self.update(|progress| {
            let is_first = progress.outcome.is_none();
            progress.outcome.get_or_insert(outcome);
            is_first
        });
    }

    /// Changes the progress, and wakes the listeners if `change` returns true. A poll that finds no
    /// change must not wake the waiter that polls.
    fn update(&self, change: impl FnOnce(&mut Progress) -> bool) {
        let has_changed = change(&mut self.progress());
        if has_changed {
            self.wake();
        }
    }
}

impl ReplySink for LiveTurn {
    fn origin(&self) -> TurnOrigin<'_> {
        TurnOrigin {
            conversation: self.subject.conversation_id,
            is_stored: !self.subject.is_ephemeral,
            started_by: &self.subject.started_by,
            credential: self.subject.credential.as_ref(),
            request_id: self.subject.request_id.as_deref(),
        }
    }

    fn with_reply<R>(&self, change: impl FnOnce(&mut PartialReply) -> R) -> R {
        change(&mut self.progress().reply)
    }

    fn notify(&self) {
        self.wake_those(|interest| interest == Interest::Reply);
    }
}

impl Drop for LiveTurn {
    fn drop(&mut self) {
        if let Some(turns) = self.turns.upgrade() {
            turns.remove_dropped(self.subject.turn_id);
        }
    }
}
