//! The continuation of a turn by another node.

use domain::{EventType, NodeId, Resumption, Stamp, Timestamp, TurnStep};
use ports::write_store::{ConversationFacts, StepRow, TurnAssignment, TurnRow};

use super::{ending::turn_ids, promotion::promoted_turn};
use crate::{Planner, PromotedTurn};

impl Planner<'_> {
    /// Gives a turn in progress that has no live node to `node`. Returns `None`, and changes nothing,
    /// if too many processes have died with it.
    pub(super) fn resume(
        &mut self,
        row: &TurnRow,
        conversation: &ConversationFacts,
        node: NodeId,
        at: Timestamp,
    ) -> Option<PromotedTurn> {
        let journal = self.facts.journal(&row.tenant, row.turn.id);
        let was_lost = row.node.is_some();
        let resumption = Resumption::after(journal, was_lost);
        if was_lost && resumption.is_last_loss() {
            return None;
        }
        let mut resumed = promoted_turn(row, conversation)?;
        let step = TurnStep::Resumed(resumption);
        resumed.journal = journal.to_vec();
        resumed.journal.push(step.clone());
        self.rows.steps.push(StepRow {
            tenant: row.tenant.clone(),
            turn_id: row.turn.id,
            number: journal.len(),
            step,
        });
        self.rows.assignments.push(TurnAssignment {
            tenant: row.tenant.clone(),
            id: row.turn.id,
            node: Some(node),
        });
        // It also tells all processes that what they know of the turn is outdated.
        let by_caller = Stamp {
            time: at.max(row.turn.latest_time()),
            actor: row.principal.clone(),
        };
        let ids = turn_ids(&row.turn, conversation);
        self.log_turn(&row.tenant, &by_caller, EventType::TurnResumed, ids);
        Some(resumed)
    }
}
