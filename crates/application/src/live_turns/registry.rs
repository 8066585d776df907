//! The turns that this process runs or waits for.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use domain::{
    AgentId, ConversationId, CredentialSource, NodeId, PrincipalId, Problem, ProblemCode, Seq,
    TenantId, TurnId,
};
use parking_lot::Mutex;
use ports::FoundTurn;
use writes::PromotedTurn;

use super::{
    live_turn::LiveTurn,
    local_turn_starts::LocalTurnStarts,
    progress::TurnOutcome,
    reply_readers::ReplyReaders,
    turn_user::{RecentMoves, TurnUser},
};

/// The turns that this process runs or waits for. A turn is registered for as long as it is held.
#[derive(Default)]
pub struct LiveTurns {
    pub(crate) turns: Mutex<HashMap<TurnId, RegisteredTurn>>,
    /// Locked after `turns`.
    moves: Mutex<RecentMoves>,
    /// The readers of replies of all nodes.
    pub readers: Arc<ReplyReaders>,
    /// The starts of turns, for other nodes.
    pub(crate) starts: LocalTurnStarts,
}

/// A registered turn.
pub(crate) struct RegisteredTurn {
    /// The same as in the turn, for searches of the locked map: one that upgrades and drops `turn`
    /// could drop its last reference, which locks the map again.
    subject: Arc<TurnSubject>,
    turn: Weak<LiveTurn>,
}

impl LiveTurns {
    /// Returns the turn, if it is registered.
    pub fn get(&self, id: TurnId) -> Option<Arc<LiveTurn>> {
        let turns = self.turns.lock();
        turns.get(&id).and_then(|known| known.turn.upgrade())
    }

    /// Returns the turn, and registers it if necessary.
    pub fn get_or_register(self: &Arc<Self>, subject: TurnSubject) -> Arc<LiveTurn> {
        let mut turns = self.turns.lock();
        let known = turns.get(&subject.turn_id).and_then(|it| it.turn.upgrade());
        // The streams of a turn that waited have ended. It goes on, or is read again, as another one.
        if let Some(known) = known.filter(|known| !known.has_waited()) {
            return known;
        }
        self.moves.lock().correct(&subject);
        let id = subject.turn_id;
        let turn = Arc::new(LiveTurn::new(subject, Arc::downgrade(self)));
        let entered = RegisteredTurn {
            subject: turn.shared_subject(),
            turn: Arc::downgrade(&turn),
        };
        turns.insert(id, entered);
        turn
    }

    /// Returns a turn that was just read, and registers it if necessary. If it does not run here,
    /// its stored state is applied.
    pub(crate) fn get_or_register_found(
        self: &Arc<Self>,
        tenant: &TenantId,
        found: FoundTurn,
    ) -> Arc<LiveTurn> {
        let turn = self.get_or_register(TurnSubject::of_found(tenant, &found));
        if turn.local_node().is_none() {
            turn.apply_stored(found);
        }
        turn
    }

    /// Returns the registered turns that match. Turns that are not stored are known to their callers
    /// only.
    pub fn matching(&self, is_wanted: impl Fn(&TurnSubject) -> bool) -> Vec<Arc<LiveTurn>> {
        let turns = self.turns.lock();
        let wanted = turns
            .values()
            .filter(|known| !known.subject.is_ephemeral && is_wanted(&known.subject));
        wanted.filter_map(|known| known.turn.upgrade()).collect()
    }

    /// Records that a conversation belongs to this user since the change at `position`. Its turns go along,
    /// also those that are registered with the user from before.
    pub(crate) fn move_conversation(
        &self,
        key: &(TenantId, ConversationId),
        user_id: Option<&str>,
        position: Seq,
    ) {
        let turns = self.turns.lock();
        if self.moves.lock().record(key, user_id, position) {
            set_user(&turns, key, user_id);
        }
    }

    /// Applies a move that a reader of the log has seen, perhaps before the rest of this process, to the
    /// turns that are registered.
    pub fn apply_move(
        &self,
        key: &(TenantId, ConversationId),
        user_id: Option<&str>,
        position: Seq,
    ) {
        let turns = self.turns.lock();
        if !self.moves.lock().contain(key, position) {
            set_user(&turns, key, user_id);
        }
    }

    /// Makes the waiters of a turn read it again, because another process has changed it. If it has
    /// ended, its engine is stopped here.
    pub fn on_remote_change(&self, id: TurnId, has_ended: bool) {
        if let Some(turn) = self.get(id) {
            if has_ended {
                turn.stop();
            }
            turn.request_poll();
        }
    }

    /// Ends the turns of a deleted agent as cancelled.
    pub fn cancel_of_agent(&self, tenant: &TenantId, id: AgentId) {
        self.cancel(|subject| subject.tenant == *tenant && subject.agent_id == id);
    }

    /// Ends the turns of a deleted conversation as cancelled.
    pub fn cancel_of_conversation(&self, tenant: &TenantId, id: ConversationId) {
        self.cancel(|subject| subject.tenant == *tenant && subject.conversation_id == id);
    }

    fn cancel(&self, is_deleted: impl Fn(&TurnSubject) -> bool) {
        for turn in self.matching(is_deleted) {
            turn.stop();
            turn.end(TurnOutcome::Cancelled);
        }
    }

    /// Interrupts every turn that runs here under an earlier node id than `current` returns: the
    /// lease of that id has expired, and other processes end its turns.
    pub fn interrupt_of_earlier_nodes(&self, current: impl FnOnce() -> NodeId) {
        let running = self.running();
        // Read last: turns that start under a newer id are not in `running`.
        let current = current();
        for (turn, node) in running {
            if node != current {
                turn.interrupt();
            }
        }
    }

    /// Interrupts every turn that runs here, because the process ends.
    pub(crate) fn interrupt_all(&self) {
        for (turn, _) in self.running() {
            turn.interrupt();
        }
    }

    /// Returns whether this process runs the turn or is about to start it.
    pub fn is_local(&self, id: TurnId) -> bool {
        self.get(id).is_some_and(|turn| turn.is_local())
    }

    /// Returns the number of turns that run here or have waiters here, and are neither queued nor
    /// ended.
    pub fn in_progress(&self) -> usize {
        let mut turns = self.all();
        turns.retain(|turn| {
            let is_awaited = turn.is_local() || turn.has_listeners();
            is_awaited && !turn.is_queued() && !turn.has_ended()
        });
        turns.len()
    }

    /// Ends the waits for turns of other processes, because this process ends.
    pub fn end_remote_waits(&self) {
        for turn in self.all() {
            if !turn.is_local() {
                turn.end(TurnOutcome::Failed(Problem::new(ProblemCode::Draining)));
            }
        }
    }

    /// Returns the queued turns that this process waits for.
    pub fn queued(&self) -> Vec<Arc<LiveTurn>> {
        let mut turns = self.all();
        turns.retain(|turn| turn.is_queued());
        turns
    }

    /// Removes the entry of a turn whose last reference is being dropped.
    pub(crate) fn remove_dropped(&self, id: TurnId) {
        let mut turns = self.turns.lock();
        // The same turn may have been registered again since.
        if turns
            .get(&id)
            .is_some_and(|known| known.turn.strong_count() == 0)
        {
            turns.remove(&id);
        }
    }

    /// Returns the turns that run here with their node ids.
    fn running(&self) -> Vec<(Arc<LiveTurn>, NodeId)> {
        let with_node = |turn: Arc<LiveTurn>| {
            let node = turn.local_node()?;
            Some((turn, node))
        };
        self.all().into_iter().filter_map(with_node).collect()
    }

    fn all(&self) -> Vec<Arc<LiveTurn>> {
        let turns = self.turns.lock();
        turns.values().filter_map(|it| it.turn.upgrade()).collect()
    }
}

/// Sets the user of the turns of a conversation.
fn set_user(
    turns: &HashMap<TurnId, RegisteredTurn>,
    (tenant, id): &(TenantId, ConversationId),
    user_id: Option<&str>,
) {
    let subjects = turns.values().map(|known| &known.subject);
    for subject in subjects.filter(|it| it.conversation_id == *id && it.tenant == *tenant) {
        subject.user.set(user_id);
    }
}

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
    pub user: TurnUser,
    /// The principal that sent the message.
    pub started_by: PrincipalId,
    /// The credential of this principal, if this process received the message.
    pub credential: Option<Arc<CredentialSource>>,
    /// The request that sent the message, if this process received it.
    pub request_id: Option<String>,
    /// True if nothing of the turn is stored. Its conversation then does not exist.
    pub is_ephemeral: bool,
}

impl TurnSubject {
    /// Returns the conversation, if it exists.
    pub fn stored_conversation(&self) -> Option<ConversationId> {
        (!self.is_ephemeral).then_some(self.conversation_id)
    }

    /// Returns the ids of a stored turn.
    fn of_found(tenant: &TenantId, found: &FoundTurn) -> Self {
        Self {
            tenant: tenant.clone(),
            turn_id: found.turn.id,
            conversation_id: found.turn.conversation_id,
            agent_id: found.turn.agent_id,
            user: found.user_id.clone().into(),
            started_by: found.principal.clone(),
            credential: None,
            request_id: None,
            is_ephemeral: false,
        }
    }

    /// Returns the ids of a turn that was promoted from the queue.
    pub(crate) fn of_promoted(promoted: &PromotedTurn) -> Self {
        let turn = &promoted.turn;
        Self {
            tenant: promoted.tenant.clone(),
            turn_id: turn.id,
            conversation_id: turn.conversation_id,
            agent_id: turn.agent_id,
            user: promoted.user_id.clone().into(),
            started_by: promoted.principal.clone(),
            credential: None,
            request_id: None,
            is_ephemeral: false,
        }
    }
}
