//! A turn as this process sees it while it lasts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use domain::{
    AgentId, ConversationId, NodeId, PrincipalId, Problem, TenantId, TurnId, TurnStarted,
};
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    command::Chatted,
    live_turns::LiveTurns,
    looks::{Looks, Patience},
    progress::Progress,
    said::Said,
};

/// Which turn it is, and whom it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnSubject {
    /// Whose data.
    pub tenant: TenantId,
    /// The turn.
    pub turn_id: TurnId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// Who answers.
    pub agent_id: AgentId,
    /// The person the conversation belongs to.
    pub user_id: Option<String>,
    /// Who asked.
    pub asker: PrincipalId,
    /// The request that asked, if this process took it.
    pub request_id: Option<String>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnOutcome {
    /// With an answer.
    Completed(Chatted),
    /// Without one.
    Failed(Problem),
    /// By a caller or a deletion.
    Cancelled,
}

/// A turn that this process runs, or that somebody here waits for.
pub struct LiveTurn {
    subject: Arc<TurnSubject>,
    stop: CancellationToken,
    progress: Mutex<Progress>,
    listeners: Mutex<Vec<Weak<Notify>>>,
    looks: Mutex<Looks>,
    turns: Weak<LiveTurns>,
}

impl LiveTurn {
    pub(super) fn new(subject: TurnSubject, turns: Weak<LiveTurns>) -> Self {
        Self {
            subject: Arc::new(subject),
            stop: CancellationToken::new(),
            progress: Mutex::default(),
            listeners: Mutex::default(),
            looks: Mutex::new(Looks::new()),
            turns,
        }
    }

    /// Which turn it is.
    pub fn subject(&self) -> &TurnSubject {
        &self.subject
    }

    /// The same for those who find the turn by it.
    pub(super) fn shared_subject(&self) -> Arc<TurnSubject> {
        Arc::clone(&self.subject)
    }

    /// How far it has come.
    pub fn progress(&self) -> MutexGuard<'_, Progress> {
        // Text is whole after every push, also after a panic elsewhere.
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes `listener` whenever something changes, for as long as it lives.
    pub fn listen(&self, listener: &Arc<Notify>) {
        let listener = Arc::downgrade(listener);
        let mut listeners = self.listeners();
        // One that listens already is woken once, however often it asks.
        listeners.retain(|known| known.strong_count() > 0 && !known.ptr_eq(&listener));
        listeners.push(listener);
    }

    /// Lets everybody who listens look again.
    pub fn wake(&self) {
        for listener in self.listeners().iter().filter_map(Weak::upgrade) {
            listener.notify_one();
        }
    }

    /// Lets one of those who wait look into the store: there is word of a change.
    pub(super) fn look_again(&self) {
        self.looks().call_for();
        self.wake();
    }

    /// When the store is asked the next time at the latest, if the turn does not run here.
    pub(super) fn next_look(&self) -> Instant {
        self.looks().next()
    }

    /// Whether it is for whoever asks to look into the store now.
    pub(super) fn takes_look(&self) -> bool {
        self.looks().take()
    }

    /// Notes whether the store has answered one who looked.
    pub(super) fn looked(&self, has_answered: bool) -> Patience {
        self.looks().note(has_answered)
    }

    /// The node id under which this process runs the turn, if it does.
    pub fn runs_under(&self) -> Option<NodeId> {
        self.progress().runs_under
    }

    /// Whether it has ended, as far as this process knows.
    pub fn has_ended(&self) -> bool {
        self.progress().outcome.is_some()
    }

    /// Whether it waits in the queue, as far as this process knows.
    pub fn is_queued(&self) -> bool {
        let progress = self.progress();
        progress.was_queued && progress.started.is_none() && progress.outcome.is_none()
    }

    /// Whether this process runs it, or is about to begin it.
    pub(super) fn is_of_here(&self) -> bool {
        let progress = self.progress();
        let was_stored =
            progress.was_queued || progress.started.is_some() || progress.outcome.is_some();
        progress.runs_under.is_some() || !was_stored
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.progress().is_interrupted
    }

    /// Ends with what the engine was asked elsewhere, too.
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

    /// What was said so far, for one who cancels the turn to keep: more than that is told to
    /// nobody until it is known whether the turn goes on.
    pub(crate) fn hold_text(&self) -> Said {
        let mut progress = self.progress();
        progress.hold();
        progress.said.clone()
    }

    /// The turn goes on, as far as one is concerned who wanted to cancel it.
    pub(crate) fn release_text(&self) {
        self.progress().release();
        self.wake();
    }

    pub(super) fn queued(&self) {
        self.note(|progress| !std::mem::replace(&mut progress.was_queued, true));
    }

    /// This process runs it under `node` from now on; none when it does so no more, and only the
    /// store knows how it stands.
    pub(super) fn runs(&self, node: Option<NodeId>) {
        if node.is_none() {
            self.looks().call_for();
        }
        self.note(|progress| std::mem::replace(&mut progress.runs_under, node) != node);
    }

    pub(super) fn started(&self, started: TurnStarted) {
        self.note(|progress| progress.started.replace(started) != Some(started));
    }

    /// It ended; the first end counts.
    pub fn end(&self, outcome: TurnOutcome) {
        self.note(|progress| {
            let is_first = progress.outcome.is_none();
            progress.outcome.get_or_insert(outcome);
            is_first
        });
    }

    /// Notes how far it has come, and wakes those who wait if that is news: one who looks into the
    /// store again and again must not be woken by seeing the same again.
    fn note(&self, change: impl FnOnce(&mut Progress) -> bool) {
        let is_news = change(&mut self.progress());
        if is_news {
            self.wake();
        }
    }

    fn looks(&self) -> MutexGuard<'_, Looks> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<Weak<Notify>>> {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LiveTurn {
    fn drop(&mut self) {
        if let Some(turns) = self.turns.upgrade() {
            turns.forget(self.subject.turn_id);
        }
    }
}
