//! Turns that are ended from outside.

use domain::{
    AgentId, ConversationId, EventType, NodeId, Seq, Stamp, TenantId, Timestamp, TurnId, TurnStatus,
};
use ports::{CancelOutcome, Committed, Reply};

use super::{Planner, committed, ending::End};
use crate::{
    EventRow, Facts, Rows, TurnEnd, TurnRow,
    event_rows::{LogPlace, TurnPlace},
};

/// Ends the turn `row`, and starts the one that waits behind it on `node`. `facts` hold the head
/// of the tenant, the turn's conversation and, if `node` is given, whether it lives and which
/// turn waits.
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
        // What deletes a conversation ends its turns, so an open turn has one.
        return (Rows::default(), CancelOutcome::NotFound);
    };
    let end = End {
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

/// A turn that a deletion ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTurn {
    /// The turn.
    pub id: TurnId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// Its agent.
    pub agent_id: AgentId,
    /// The person its conversation belongs to.
    pub user_id: Option<String>,
    /// When it started, or was made if it waits.
    pub latest_time: Timestamp,
}

/// Logs one change of an agent or a conversation. `head` is the tenant's newest event.
pub fn change(
    tenant: &TenantId,
    head: Seq,
    stamp: &Stamp,
    event: impl FnOnce(LogPlace<'_>) -> EventRow,
) -> (Rows, Committed) {
    delete(tenant, head, &[], stamp, event)
}

/// Ends the turns that are open, in the order given, and logs the deletion last.
pub fn delete(
    tenant: &TenantId,
    head: Seq,
    open: &[OpenTurn],
    stamp: &Stamp,
    deletion: impl FnOnce(LogPlace<'_>) -> EventRow,
) -> (Rows, Committed) {
    let facts = Facts {
        heads: [(tenant.clone(), head)].into(),
        ..Facts::default()
    };
    let mut planner = Planner::new(&facts);
    for turn in open {
        let place = TurnPlace {
            turn_id: turn.id,
            conversation_id: turn.conversation_id,
            agent_id: turn.agent_id,
            user_id: turn.user_id.as_deref(),
        };
        planner.log_turn(tenant, stamp, EventType::TurnCancelled, place);
        planner.rows.ends.push(TurnEnd {
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
    let last = planner.log(tenant, stamp, deletion);
    (planner.into_rows(), committed(head.plus(1), last))
}
