//! Turns that are cancelled by a caller or by a deletion.

use domain::{
    AgentId, ConversationId, EventType, NodeId, Seq, Stamp, TenantId, Timestamp, TurnId, TurnStatus,
};
use ports::{CancelOutcome, Committed, Reply};

use super::{Planner, committed, ending::Ending};
use crate::{
    EventRow, Facts, Rows, TurnEnd, TurnRow,
    event_rows::{LogPosition, TurnIds},
};

/// Cancels the turn `row`, and starts the next queued turn on `node`. `facts` contain the head of
/// the tenant and the turn's conversation; if `node` is given, also whether the node is alive, and
/// the next queued turn.
pub fn cancel_turn(
    facts: &Facts,
    row: &TurnRow,
    partial: Option<&Reply>,
    node: Option<NodeId>,
    stamp: &Stamp,
) -> (Rows, CancelOutcome) {
    if row.turn.status.is_final() {
        return (Rows::default(), CancelOutcome::AlreadyFinal);
    }
    let Some(conversation) = facts.conversation(&row.tenant, row.turn.conversation_id) else {
        // Deleting a conversation cancels its turns, so the conversation of an open turn exists.
        return (Rows::default(), CancelOutcome::NotFound);
    };
    let end = Ending {
        kind: EventType::TurnCancelled,
        status: TurnStatus::Cancelled,
        reply: partial.filter(|reply| !reply.content.is_empty()),
        tool_calls: partial.map_or(&[], |reply| &reply.tool_calls),
        error: None,
    };
    let mut planner = Planner::new(facts);
    let (first, last, promoted) = planner.end(row, conversation, &end, node, stamp);
    let outcome = CancelOutcome::Cancelled {
        committed: committed(first, last),
        promoted: promoted.map(Box::new),
    };
    (planner.into_rows(), outcome)
}

/// A turn that a deletion cancels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnToCancel {
    /// The turn.
    pub id: TurnId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// Its agent.
    pub agent_id: AgentId,
    /// The user that its conversation belongs to.
    pub user_id: Option<String>,
    /// The time of its start, or of its creation if it is queued.
    pub latest_time: Timestamp,
}

/// Cancels the open turns in the given order, and logs the deletion last. `head` is the position of
/// the tenant's newest event.
pub fn log_deletion(
    tenant: &TenantId,
    head: Seq,
    open: &[TurnToCancel],
    stamp: &Stamp,
    deletion: impl FnOnce(LogPosition<'_>) -> EventRow,
) -> (Rows, Committed) {
    let facts = Facts {
        heads: [(tenant.clone(), head)].into(),
        ..Facts::default()
    };
    let mut planner = Planner::new(&facts);
    planner.cancel_open_turns(tenant, open, stamp);
    let last = planner.log(tenant, stamp, deletion);
    (planner.into_rows(), committed(head.plus(1), last))
}

impl Planner<'_> {
    /// Cancels the turns that a deletion ends, in the given order.
    pub(super) fn cancel_open_turns(
        &mut self,
        tenant: &TenantId,
        open: &[TurnToCancel],
        stamp: &Stamp,
    ) {
        for turn in open {
            let ids = TurnIds {
                turn_id: turn.id,
                conversation_id: turn.conversation_id,
                agent_id: turn.agent_id,
                user_id: turn.user_id.as_deref(),
            };
            self.log_turn(tenant, stamp, EventType::TurnCancelled, ids);
            self.rows.ends.push(TurnEnd {
                tenant: tenant.clone(),
                id: turn.id,
                status: TurnStatus::Cancelled,
                reply_seq: None,
                degraded: false,
                tool_calls: Vec::new(),
                error: None,
                finished_at: stamp.time.max(turn.latest_time),
            });
        }
    }
}
