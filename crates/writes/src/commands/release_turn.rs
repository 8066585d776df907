//! A running turn that its node gives up.

use domain::{ConversationId, NodeId, TenantId, TurnId};
use ports::{FactsQuery, RepositoryError, write_store::TurnAssignment};

use super::record_steps::running_turn;
use crate::{Command, Part, Planned, Planner, Scope};

/// Gives up a running turn, which another node, or this one after a restart, then resumes. Writes
/// nothing, and returns `false`, unless the turn is in progress under `node`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseTurn {
    /// The tenant.
    pub tenant: TenantId,
    /// The turn.
    pub turn_id: TurnId,
    /// The conversation of the turn.
    pub conversation_id: ConversationId,
    /// The node that runs the turn: the fencing token.
    pub node: NodeId,
    /// True if this process holds the turn, but does not run it. That counts like the death of the process,
    /// so that a turn that can never end is not resumed for ever.
    pub was_lost: bool,
}

impl Command for ReleaseTurn {
    type Outcome = bool;

    fn scope(&self) -> Scope {
        Scope::new(&self.tenant, [Part::Conversation(self.conversation_id)])
    }

    /// It does not raise the head of the log: the only process that knows the turn as its own is this
    /// one, whose writer forgets it.
    fn uses_log(&self) -> bool {
        false
    }

    fn needs(&self, query: &mut FactsQuery) {
        query
            .running_turns
            .push(running_turn(&self.tenant, self.turn_id, self.node));
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<bool>, RepositoryError> {
        let running = running_turn(&self.tenant, self.turn_id, self.node);
        if !planner.facts.running_turns.contains(&running) {
            return Ok(Planned::Rejected(false));
        }
        planner.rows.assignments.push(TurnAssignment {
            tenant: self.tenant.clone(),
            id: self.turn_id,
            node: self.was_lost.then_some(NodeId::UNKNOWN),
        });
        Ok(Planned::Applied(true))
    }
}
