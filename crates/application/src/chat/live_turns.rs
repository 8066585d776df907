//! The turns that this process runs, and those that somebody here waits for.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use domain::{AgentId, ConversationId, NodeId, Problem, ProblemCode, TenantId, TurnId};
use ports::FoundTurn;

use super::{
    live_turn::{LiveTurn, TurnOutcome, TurnSubject},
    stored,
};

/// The turns that this process runs, and those that somebody here waits for: each is known for as
/// long as somebody holds it.
#[derive(Default)]
pub struct LiveTurns {
    turns: Mutex<HashMap<TurnId, Known>>,
}

/// A turn that is known.
struct Known {
    /// Looked at while all are locked, where a turn itself may not be let go.
    subject: Arc<TurnSubject>,
    turn: Weak<LiveTurn>,
}

impl LiveTurns {
    /// The turn, if it is known here.
    pub fn get(&self, id: TurnId) -> Option<Arc<LiveTurn>> {
        let turns = self.lock();
        turns.get(&id).and_then(|known| known.turn.upgrade())
    }

    /// The turn, known from now on if it was not.
    pub fn enter(self: &Arc<Self>, subject: TurnSubject) -> Arc<LiveTurn> {
        let mut turns = self.lock();
        if let Some(known) = turns.get(&subject.turn_id).and_then(|it| it.turn.upgrade()) {
            return known;
        }
        let id = subject.turn_id;
        let turn = Arc::new(LiveTurn::new(subject, Arc::downgrade(self)));
        let entered = Known {
            subject: turn.shared_subject(),
            turn: Arc::downgrade(&turn),
        };
        turns.insert(id, entered);
        turn
    }

    /// A turn that was just found, known from now on if it was not; what does not run here is as it
    /// was found.
    pub(crate) fn enter_found(
        self: &Arc<Self>,
        tenant: &TenantId,
        found: FoundTurn,
    ) -> Arc<LiveTurn> {
        let turn = self.enter(stored::subject_of(tenant, &found));
        if turn.runs_under().is_none() {
            stored::tell(&turn, found);
        }
        turn
    }

    /// Those that are known and for which `is_wanted` holds.
    pub fn matching(&self, is_wanted: impl Fn(&TurnSubject) -> bool) -> Vec<Arc<LiveTurn>> {
        let turns = self.lock();
        let wanted = turns.values().filter(|known| is_wanted(&known.subject));
        wanted.filter_map(|known| known.turn.upgrade()).collect()
    }

    /// Looks at a turn again, of which the log says that somebody else has changed it. What this
    /// process runs of it is stopped when it has ended.
    pub fn changed_elsewhere(&self, id: TurnId, has_ended: bool) {
        if let Some(turn) = self.get(id) {
            if has_ended {
                turn.stop();
            }
            turn.look_again();
        }
    }

    /// Stops the engines of a deleted agent: its turns have ended with it.
    pub fn stop_of_agent(&self, tenant: &TenantId, id: AgentId) {
        self.stop(|subject| subject.tenant == *tenant && subject.agent_id == id);
    }

    /// Stops the engines of a deleted conversation: its turns have ended with it.
    pub fn stop_of_conversation(&self, tenant: &TenantId, id: ConversationId) {
        self.stop(|subject| subject.tenant == *tenant && subject.conversation_id == id);
    }

    fn stop(&self, is_gone: impl Fn(&TurnSubject) -> bool) {
        for turn in self.matching(is_gone) {
            turn.stop();
            turn.end(TurnOutcome::Cancelled);
        }
    }

    /// Interrupts every turn that runs here under another id than the one that `now` answers: this
    /// process was taken for dead, and the turns of its earlier ids are ended by others.
    pub fn interrupt_but_under(&self, now: impl FnOnce() -> NodeId) {
        let running = self.running();
        // Asked last: what runs under an id that is newer than this answer is not among them.
        let now = now();
        for (turn, node) in running {
            if node != now {
                turn.interrupt();
            }
        }
    }

    /// Interrupts every turn that runs here: the process ends.
    pub(super) fn interrupt_all(&self) {
        for (turn, _) in self.running() {
            turn.interrupt();
        }
    }

    /// Whether this process runs a turn, or is about to.
    pub fn runs(&self, id: TurnId) -> bool {
        self.get(id).is_some_and(|turn| turn.is_of_here())
    }

    /// How many turns run here or are about to, or run elsewhere and are waited for here.
    pub fn under_way(&self) -> usize {
        let mut turns = self.all();
        turns.retain(|turn| !turn.is_queued() && !turn.has_ended());
        turns.len()
    }

    /// Lets those go who wait here for turns that others run: the process ends, and what they wait
    /// for is told by those.
    pub fn let_go(&self) {
        for turn in self.all() {
            if !turn.is_of_here() {
                turn.end(TurnOutcome::Failed(Problem::new(ProblemCode::Draining)));
            }
        }
    }

    /// Those that wait in a queue while somebody here waits for their reply.
    pub fn queued(&self) -> Vec<Arc<LiveTurn>> {
        let mut turns = self.all();
        turns.retain(|turn| turn.is_queued());
        turns
    }

    pub(super) fn forget(&self, id: TurnId) {
        let mut turns = self.lock();
        // Another may have come in its place since.
        if turns
            .get(&id)
            .is_some_and(|known| known.turn.strong_count() == 0)
        {
            turns.remove(&id);
        }
    }

    /// Those that run here, and under which id.
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

    fn lock(&self) -> MutexGuard<'_, HashMap<TurnId, Known>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use domain::TurnId;
    use uuid::Uuid;

    use super::{super::stored_turn::subject, *};

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
