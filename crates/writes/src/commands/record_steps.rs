//! Entries of the journal of a running turn.

use domain::{ConversationId, NodeId, TenantId, ToolStep, TurnId, TurnStep};
use ports::{
    FactsQuery, RepositoryError,
    write_store::{RunningTurn, StepRow, TurnCalls},
};

use crate::{Command, Part, Planned, Planner, Scope};

/// Adds entries to the journal of a running turn: calls before they are made, and again when they have
/// ended. Writes nothing, and returns `false`, unless the turn is in progress under `node`. Writing the
/// same entries twice is the same as once.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordSteps {
    /// The tenant.
    pub tenant: TenantId,
    /// The turn.
    pub turn_id: TurnId,
    /// The conversation of the turn.
    pub conversation_id: ConversationId,
    /// The node that runs the turn: the fencing token.
    pub node: NodeId,
    /// New entries, with their numbers.
    pub begun: Vec<(usize, TurnStep)>,
    /// Entries that were recorded before, and have changed since.
    pub changed: Vec<(usize, TurnStep)>,
}

impl RecordSteps {
    fn rows(&self, steps: &[(usize, TurnStep)]) -> impl Iterator<Item = StepRow> {
        steps.iter().map(|(number, step)| StepRow {
            tenant: self.tenant.clone(),
            turn_id: self.turn_id,
            number: *number,
            step: step.clone(),
        })
    }

    /// The row that tells whether a call of the turn may act, if calls begin.
    fn calls(&self) -> Option<TurnCalls> {
        // An approved call was recorded before, and begins now.
        let approved = self.changed.iter().filter(|(_, step)| !step.has_ended());
        let calls = self.begun.iter().chain(approved);
        let acts = calls.filter_map(|(_, step)| step.call().map(ToolStep::may_have_acted));
        Some(TurnCalls {
            tenant: self.tenant.clone(),
            id: self.turn_id,
            may_act: acts.reduce(|any, acts| any || acts)?,
        })
    }
}

impl Command for RecordSteps {
    type Outcome = bool;

    fn scope(&self) -> Scope {
        Scope::new(&self.tenant, [Part::Conversation(self.conversation_id)])
    }

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
        planner.rows.calls.extend(self.calls());
        planner.rows.steps.extend(self.rows(&self.begun));
        planner.rows.changed_steps.extend(self.rows(&self.changed));
        Ok(Planned::Applied(true))
    }
}

pub(super) fn running_turn(tenant: &TenantId, id: TurnId, node: NodeId) -> RunningTurn {
    RunningTurn {
        tenant: tenant.clone(),
        id,
        node,
    }
}
