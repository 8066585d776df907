//! The open turns of something that is deleted.

use domain::{EventType, Stamp, TenantId, TurnStatus};
use ports::write_store::{OpenTurn, TurnEnd};

use crate::{Planner, event_rows::TurnIds};

impl Planner<'_> {
    /// Cancels the turns that a deletion ends, in the given order.
    pub(super) fn cancel_open_turns(
        &mut self,
        tenant: &TenantId,
        open: &[OpenTurn],
        stamp: &Stamp,
    ) {
        for turn in open {
            let ids = TurnIds {
                turn: turn.id,
                conversation: turn.conversation_id,
                agent: turn.agent_id,
                user: turn.user_id.as_deref(),
            };
            self.log_turn(tenant, stamp, EventType::TurnCancelled, ids);
            self.rows.ends.push(TurnEnd {
                action_expires_at: None,
                tenant: tenant.clone(),
                id: turn.id,
                status: TurnStatus::Cancelled,
                reply_seq: None,
                degraded: false,
                tool_calls: Vec::new(),
                usage: None,
                reasoning: None,
                error: None,
                finished_at: stamp.time.max(turn.latest_time),
            });
        }
    }
}
