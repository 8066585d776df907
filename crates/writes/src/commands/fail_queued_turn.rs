//! The failure of a queued turn that cannot start any more.

use domain::{ConversationId, EventType, Problem, Stamp, TenantId, Timestamp, TurnId, TurnStatus};
use ports::{Facts, FactsQuery, RepositoryError};

use super::{ending::Ending, in_doubt};
use crate::{Command, Committed, Part, Planned, Planner, Scope};

/// Fails a queued turn, with `turn.failed`, whose actor is the principal that sent the message. The
/// outcome is `None` if the turn is not queued (any more), or left to nodes of a newer version.
#[derive(Debug, Clone)]
pub struct FailQueuedTurn {
    /// The tenant.
    pub tenant: TenantId,
    /// The turn.
    pub turn_id: TurnId,
    /// The conversation of the turn.
    pub conversation_id: ConversationId,
    /// The reason.
    pub problem: Problem,
    /// The time.
    pub time: Timestamp,
}

impl Command for FailQueuedTurn {
    type Outcome = Option<Committed>;

    fn scope(&self) -> Scope {
        Scope::new(&self.tenant, [Part::Conversation(self.conversation_id)])
    }

    fn needs(&self, query: &mut FactsQuery) {
        let conversation = (self.tenant.clone(), self.conversation_id);
        query.conversations.insert(conversation);
        query.turns.insert((self.tenant.clone(), self.turn_id));
    }

    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let kind = EventType::TurnFailed;
        let at = in_doubt::find(facts, &self.tenant, kind, |event| {
            event.turn_id == Some(self.turn_id) && event.stamp.time == self.time
        })?;
        Some(Some(Committed::at(at)))
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let facts = planner.facts;
        let found = facts.turn(&self.tenant, self.turn_id);
        let due = found.filter(|row| {
            row.turn.conversation_id == self.conversation_id
                && row.turn.status == TurnStatus::Queued
                && !row.is_left_to_newer()
        });
        let conversation = facts.conversation(&self.tenant, self.conversation_id);
        let (Some(row), Some(conversation)) = (due, conversation) else {
            return Ok(Planned::Rejected(None));
        };
        let end = Ending::failure(&self.problem, &[], &[]);
        let by_caller = Stamp {
            time: self.time,
            actor: row.principal.clone(),
        };
        let ended = planner.end(row, conversation, &end, None, &by_caller);
        Ok(Planned::Applied(Some(ended.committed)))
    }
}
