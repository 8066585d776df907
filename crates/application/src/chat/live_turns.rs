//! The turns that this process runs or waits for.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use domain::{
    AgentId, ConversationId, NodeId, Problem, ProblemCode, TenantId, TurnId, TurnStarted,
    TurnStatus,
};
use ports::FoundTurn;

use super::{
    finish::outcome_of,
    live_turn::{LiveTurn, TurnOutcome, TurnSubject},
};

/// The turns that this process runs or waits for. A turn is registered for as long as it is held.
#[derive(Default)]
pub struct LiveTurns {
    turns: Mutex<HashMap<TurnId, KnownTurn>>,
}

/// A registered turn.
struct KnownTurn {
    /// Read while the map is locked, when a turn itself must not be dropped.
    subject: Arc<TurnSubject>,
    turn: Weak<LiveTurn>,
}

impl LiveTurns {
    /// Returns the turn, if it is registered.
    pub fn get(&self, id: TurnId) -> Option<Arc<LiveTurn>> {
        let turns = self.lock();
        turns.get(&id).and_then(|known| known.turn.upgrade())
    }

    /// Returns the turn, and registers it if necessary.
    pub fn enter(self: &Arc<Self>, subject: TurnSubject) -> Arc<LiveTurn> {
        let mut turns = self.lock();
        if let Some(known) = turns.get(&subject.turn_id).and_then(|it| it.turn.upgrade()) {
            return known;
        }
        let id = subject.turn_id;
        let turn = Arc::new(LiveTurn::new(subject, Arc::downgrade(self)));
        let entered = KnownTurn {
            subject: turn.shared_subject(),
            turn: Arc::downgrade(&turn),
        };
        turns.insert(id, entered);
        turn
    }

    /// Returns a turn that was just read, and registers it if necessary. One that does not run here
    /// takes its stored state.
    pub(crate) fn enter_found(
        self: &Arc<Self>,
        tenant: &TenantId,
        found: FoundTurn,
    ) -> Arc<LiveTurn> {
        let turn = self.enter(subject_of(tenant, &found));
        if turn.runs_under().is_none() {
            report_stored(&turn, found);
        }
        turn
    }

    /// Returns the registered turns that match.
    pub fn matching(&self, is_wanted: impl Fn(&TurnSubject) -> bool) -> Vec<Arc<LiveTurn>> {
        let turns = self.lock();
        let wanted = turns.values().filter(|known| is_wanted(&known.subject));
        wanted.filter_map(|known| known.turn.upgrade()).collect()
    }

    /// Has a turn polled that another process has changed, and stops its engine here if it has
    /// ended.
    pub fn changed_elsewhere(&self, id: TurnId, has_ended: bool) {
        if let Some(turn) = self.get(id) {
            if has_ended {
                turn.stop();
            }
            turn.request_poll();
        }
    }

    /// Ends the turns of a deleted agent.
    pub fn stop_of_agent(&self, tenant: &TenantId, id: AgentId) {
        self.stop(|subject| subject.tenant == *tenant && subject.agent_id == id);
    }

    /// Ends the turns of a deleted conversation.
    pub fn stop_of_conversation(&self, tenant: &TenantId, id: ConversationId) {
        self.stop(|subject| subject.tenant == *tenant && subject.conversation_id == id);
    }

    fn stop(&self, is_deleted: impl Fn(&TurnSubject) -> bool) {
        for turn in self.matching(is_deleted) {
            turn.stop();
            turn.end(TurnOutcome::Cancelled);
        }
    }

    /// Interrupts every turn that runs here under another node id than `now` returns: the lease of
    /// that id expired, and other processes end its turns.
    pub fn interrupt_but_under(&self, now: impl FnOnce() -> NodeId) {
        let running = self.running();
        // Read last: turns that start under a newer id are not in `running`.
        let now = now();
        for (turn, node) in running {
            if node != now {
                turn.interrupt();
            }
        }
    }

    /// Interrupts every turn that runs here, because the process ends.
    pub(super) fn interrupt_all(&self) {
        for (turn, _) in self.running() {
            turn.interrupt();
        }
    }

    /// Whether this process runs the turn or is about to start it.
    pub fn runs(&self, id: TurnId) -> bool {
        self.get(id).is_some_and(|turn| turn.is_local())
    }

    /// The number of registered turns that are neither queued nor ended.
    pub fn in_progress(&self) -> usize {
        let mut turns = self.all();
        turns.retain(|turn| !turn.is_queued() && !turn.has_ended());
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

    pub(super) fn forget(&self, id: TurnId) {
        let mut turns = self.lock();
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
            let node = turn.runs_under()?;
            Some((turn, node))
        };
        self.all().into_iter().filter_map(with_node).collect()
    }

    fn all(&self) -> Vec<Arc<LiveTurn>> {
        let turns = self.lock();
        turns.values().filter_map(|it| it.turn.upgrade()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TurnId, KnownTurn>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The ids of a stored turn.
fn subject_of(tenant: &TenantId, found: &FoundTurn) -> TurnSubject {
    TurnSubject {
        tenant: tenant.clone(),
        turn_id: found.turn.id,
        conversation_id: found.turn.conversation_id,
        agent_id: found.turn.agent_id,
        user_id: found.user_id.clone(),
        asker: found.principal.clone(),
        request_id: None,
    }
}

/// Updates a turn that runs in another process to its stored state: its text arrives as one piece,
/// once the reply is stored.
pub(super) fn report_stored(live: &LiveTurn, found: FoundTurn) {
    let FoundTurn {
        turn, message_id, ..
    } = found;
    if turn.status == TurnStatus::Queued {
        live.queued();
        return;
    }
    if let (Some(agent_version), Some(_)) = (turn.agent_version, turn.started_at) {
        let started = TurnStarted {
            turn_id: turn.id,
            conversation_id: turn.conversation_id,
            message_id,
            agent_id: turn.agent_id,
            agent_version,
        };
        live.started(started);
    }
    if let Some(reply) = &turn.reply {
        live.progress().reply.text.clone_from(&reply.content);
    }
    if let Some(outcome) = outcome_of(turn) {
        live.end(outcome);
    }
}

#[cfg(test)]
mod tests {
    use domain::TurnId;
    use uuid::Uuid;

    use super::{super::tests::stored_turn::subject, *};

    fn of(number: u128) -> TurnSubject {
        TurnSubject {
            turn_id: TurnId::new(Uuid::from_u128(number)),
            ..subject()
        }
    }

    #[test]
    fn nothing_is_left_of_a_thousand_turns() {
        let turns = Arc::new(LiveTurns::default());
        let mut known: Vec<_> = (0..1_000).map(|number| turns.enter(of(number))).collect();
        let again: Vec<_> = (0..1_000).map(|number| turns.enter(of(number))).collect();
        assert!(
            known
                .iter()
                .zip(&again)
                .all(|(one, other)| Arc::ptr_eq(one, other))
        );
        assert_eq!(turns.lock().len(), 1_000);
        drop(again);
        assert_eq!(turns.lock().len(), 1_000);
        known.retain(|turn| turn.subject().turn_id.uuid().as_u128() % 3 == 0);
        assert_eq!(turns.lock().len(), known.len());
        drop(known);
        assert_eq!(turns.lock().len(), 0);
        assert!(turns.get(of(1).turn_id).is_none());
    }

    #[test]
    fn one_that_came_in_the_place_of_another_is_not_forgotten_with_it() {
        let turns = Arc::new(LiveTurns::default());
        let (before, id) = (turns.enter(of(1)), of(1).turn_id);
        // The last who held it is about to say so.
        turns.lock().clear();
        let after = turns.enter(of(1));
        drop(before);
        assert!(Arc::ptr_eq(&turns.get(id).expect("it is known"), &after));
    }

    #[test]
    fn only_what_runs_under_an_earlier_id_is_interrupted() {
        let turns = Arc::new(LiveTurns::default());
        let node = |number| NodeId::new(Uuid::from_u128(number));
        let held: Vec<_> = (0..4).map(|number| turns.enter(of(number))).collect();
        for (turn, under) in held.iter().zip([Some(1), Some(2), Some(3), None]) {
            turn.runs(under.map(node));
        }
        turns.interrupt_but_under(|| node(3));
        let interrupted: Vec<bool> = held.iter().map(|turn| turn.is_interrupted()).collect();
        assert_eq!(interrupted, [true, true, false, false]);
    }
}
