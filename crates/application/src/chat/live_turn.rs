//! The state of a turn while it lasts, as this process knows it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use domain::{
    AgentId, ConversationId, NodeId, PrincipalId, Problem, TenantId, TurnId, TurnStarted,
};
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    command::CompletedChat,
    live_turns::LiveTurns,
    partial_reply::PartialReply,
    turn_waiter::{PollBudget, StorePoller},
};

/// The ids of a turn and of everything that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnSubject {
    /// The tenant.
    pub tenant: TenantId,
    /// The turn.
    pub turn_id: TurnId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// The agent that replies.
    pub agent_id: AgentId,
    /// The user that the conversation belongs to.
    pub user_id: Option<String>,
    /// The principal that sent the message.
    pub asker: PrincipalId,
    /// The request that sent the message, if this process received it.
    pub request_id: Option<String>,
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnOutcome {
    /// The turn has a reply.
    Completed(CompletedChat),
    /// The turn has no reply.
    Failed(Problem),
    /// A caller or a deletion ended the turn.
    Cancelled,
}

/// A turn that this process runs or waits for.
pub struct LiveTurn {
    subject: Arc<TurnSubject>,
    stop: CancellationToken,
    progress: Mutex<Progress>,
    listeners: Mutex<Vec<Weak<Notify>>>,
    poller: Mutex<StorePoller>,
    turns: Weak<LiveTurns>,
}

impl LiveTurn {
    pub(super) fn new(subject: TurnSubject, turns: Weak<LiveTurns>) -> Self {
        Self {
            subject: Arc::new(subject),
            stop: CancellationToken::new(),
            progress: Mutex::default(),
            listeners: Mutex::default(),
            poller: Mutex::new(StorePoller::new()),
            turns,
        }
    }

    /// The turn's ids.
    pub fn subject(&self) -> &TurnSubject {
        &self.subject
    }

    /// The turn's ids, shared.
    pub(super) fn shared_subject(&self) -> Arc<TurnSubject> {
        Arc::clone(&self.subject)
    }

    /// The turn's progress.
    pub fn progress(&self) -> MutexGuard<'_, Progress> {
        // The text is valid after every push, even after a panic elsewhere.
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes `listener` whenever something changes, for as long as it lives.
    pub fn listen(&self, listener: &Arc<Notify>) {
        let listener = Arc::downgrade(listener);
        let mut listeners = self.listeners();
        // A listener that is registered twice is woken once.
        listeners.retain(|known| known.strong_count() > 0 && !known.ptr_eq(&listener));
        listeners.push(listener);
    }

    /// Wakes all listeners.
    pub fn wake(&self) {
        for listener in self.listeners().iter().filter_map(Weak::upgrade) {
            listener.notify_one();
        }
    }

    /// Has one of the waiters poll the store: the event log has reported a change.
    pub(super) fn request_poll(&self) {
        self.poller().request();
        self.wake();
    }

    /// The latest time of the next poll, if the turn does not run here.
    pub(super) fn next_poll(&self) -> Instant {
        self.poller().next_poll()
    }

    /// Returns whether the calling waiter is to poll the store now.
    pub(super) fn takes_poll(&self) -> bool {
        self.poller().take_turn()
    }

    /// Records whether the store has answered a poll.
    pub(super) fn record_poll(&self, has_answered: bool) -> PollBudget {
        self.poller().record(has_answered)
    }

    /// The node id under which this process runs the turn, if it runs it.
    pub fn runs_under(&self) -> Option<NodeId> {
        self.progress().runs_under
    }

    /// Whether the turn has ended, as far as this process knows.
    pub fn has_ended(&self) -> bool {
        self.progress().outcome.is_some()
    }

    /// Whether the turn is queued, as far as this process knows.
    pub fn is_queued(&self) -> bool {
        let progress = self.progress();
        progress.was_queued && progress.started.is_none() && progress.outcome.is_none()
    }

    /// Whether this process runs the turn or is about to start it.
    pub(super) fn is_local(&self) -> bool {
        let progress = self.progress();
        let was_stored =
            progress.was_queued || progress.started.is_some() || progress.outcome.is_some();
        progress.runs_under.is_some() || !was_stored
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.progress().is_interrupted
    }

    /// The token that stops the engine.
    pub(crate) fn stopped(&self) -> &CancellationToken {
        &self.stop
    }

    /// Stops the engine: the turn has been ended.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Stops the engine: the turn is to fail as interrupted.
    pub(super) fn interrupt(&self) {
        self.progress().is_interrupted = true;
        self.stop.cancel();
    }

    /// The reply so far, for a cancellation to store. No more of it is shown until it is known
    /// whether the turn was cancelled.
    pub(crate) fn hold_text(&self) -> PartialReply {
        let mut progress = self.progress();
        progress.hold();
        progress.reply.clone()
    }

    /// Shows the text again, after a cancellation that did not take place.
    pub(crate) fn release_text(&self) {
        self.progress().release();
        self.wake();
    }

    pub(super) fn queued(&self) {
        self.update(|progress| !std::mem::replace(&mut progress.was_queued, true));
    }

    /// Sets the node id under which this process runs the turn; `None` if it no longer runs it, and
    /// only the store knows its state.
    pub(super) fn runs(&self, node: Option<NodeId>) {
        if node.is_none() {
            self.poller().request();
        }
        self.update(|progress| std::mem::replace(&mut progress.runs_under, node) != node);
    }

    pub(super) fn started(&self, started: TurnStarted) {
        self.update(|progress| progress.started.replace(started) != Some(started));
    }

    /// Ends the turn; only the first end counts.
    pub fn end(&self, outcome: TurnOutcome) {
        self.update(|progress| {
            let is_first = progress.outcome.is_none();
            progress.outcome.get_or_insert(outcome);
            is_first
        });
    }

    /// Changes the progress and wakes the listeners, unless nothing changed: polling the store must
    /// not wake the poller.
    fn update(&self, change: impl FnOnce(&mut Progress) -> bool) {
        let has_changed = change(&mut self.progress());
        if has_changed {
            self.wake();
        }
    }

    fn poller(&self) -> MutexGuard<'_, StorePoller> {
        self.poller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<Weak<Notify>>> {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The progress of a turn.
#[derive(Debug, Default)]
pub struct Progress {
    /// Whether the turn is or was queued.
    pub was_queued: bool,
    /// The content of `turn.started`, once it has started.
    pub started: Option<TurnStarted>,
    /// The reply so far.
    pub reply: PartialReply,
    /// The end of the turn.
    pub outcome: Option<TurnOutcome>,
    /// The node id under which this process runs the turn.
    pub(super) runs_under: Option<NodeId>,
    /// Whether it is stopped because the process ends or has lost its lease.
    pub(super) is_interrupted: bool,
    /// The length of the text that may be shown while a cancellation is under way.
    held_at: Option<usize>,
    /// The number of cancellations under way.
    cancellations: usize,
}

impl Progress {
    /// The text that may be shown. While a cancellation is under way, and once it took place, that is
    /// the text that the cancellation stores.
    pub fn text(&self) -> &str {
        let held_at = match &self.outcome {
            Some(TurnOutcome::Completed(_) | TurnOutcome::Failed(_)) => None,
            Some(TurnOutcome::Cancelled) | None => self.held_at,
        };
        let text = &self.reply.text;
        held_at.map_or(text, |at| text.get(..at).unwrap_or_default())
    }

    /// Withholds the text that arrives from now on.
    pub(super) fn hold(&mut self) {
        self.cancellations += 1;
        self.held_at.get_or_insert(self.reply.text.len());
    }

    /// Ends the withholding of one cancellation.
    pub(super) fn release(&mut self) {
        self.cancellations = self.cancellations.saturating_sub(1);
        if self.cancellations == 0 {
            self.held_at = None;
        }
    }
}

impl Drop for LiveTurn {
    fn drop(&mut self) {
        if let Some(turns) = self.turns.upgrade() {
            turns.forget(self.subject.turn_id);
        }
    }
}
