//! How a turn ends, whoever ends it, and how the next one starts in its place.

use domain::{
    ConversationId, EventType, NodeId, Problem, Seq, Stamp, TenantId, Timestamp, ToolCall, Turn,
    TurnStatus,
};
use ports::{PromotedTurn, Reply};

use super::Planner;
use crate::{
    ConversationAdvance, ConversationFacts, ReleasedClaim, TurnEnd, TurnRow, TurnStart,
    event_rows::TurnPlace,
};

/// How a turn ends.
pub(super) struct End<'a> {
    /// The event that tells it.
    pub(super) kind: EventType,
    /// The final status.
    pub(super) status: TurnStatus,
    /// What the agent said.
    pub(super) reply: Option<&'a Reply>,
    /// Tools that were called.
    pub(super) tool_calls: &'a [ToolCall],
    /// Why there is no answer.
    pub(super) error: Option<&'a Problem>,
}

impl Planner<'_> {
    /// Ends a turn; when it was running, starts the first that waits on `node`, if given and
    /// alive. Answers the positions of the first and last event.
    pub(super) fn end(
        &mut self,
        row: &TurnRow,
        conversation: &ConversationFacts,
        end: &End<'_>,
        node: Option<NodeId>,
        stamp: &Stamp,
    ) -> (Seq, Seq, Option<PromotedTurn>) {
        let was_running = row.turn.status == TurnStatus::InProgress;
        let reply = end.reply.filter(|_| was_running);
        let first = self.log_turn(&row.tenant, stamp, end.kind, place(&row.turn, conversation));
        let place = (&row.tenant, row.turn.conversation_id);
        // The turn may have been started by a node with another clock.
        let finished_at = stamp.time.max(row.turn.latest_time());
        let mut after = as_it_stands(place, conversation, finished_at);
        if let Some(reply) = reply {
            after.message_count += 1;
            after.last_message_at = Some(finished_at);
            let message = reply.message(&row.turn, after.message_count, finished_at);
            self.say(&row.tenant, message);
        }
        self.rows.ends.push(TurnEnd {
            tenant: row.tenant.clone(),
            id: row.turn.id,
            status: end.status,
            reply_seq: reply.map(|_| after.message_count),
            degraded: reply.is_some_and(|reply| reply.degraded),
            tool_calls: if was_running {
                end.tool_calls.to_vec()
            } else {
                Vec::new()
            },
            error: end.error.cloned(),
            finished_at,
        });
        if end.error.is_some_and(|problem| problem.retryable) {
            self.release(row);
        }
        let promoted = node
            .filter(|_| was_running)
            .and_then(|node| self.promote(conversation, &mut after, node, finished_at));
        let last = promoted.as_ref().map_or(first, |(seq, _)| *seq);
        if after.last_message_at.is_some() {
            self.advance(conversation, after);
        }
        (first, last, promoted.map(|(_, turn)| turn))
    }

    /// Lets a turn's key be used again, in the conversation where the turn took place.
    fn release(&mut self, row: &TurnRow) {
        self.rows
            .released
            .extend(row.claim.iter().map(|name| ReleasedClaim {
                tenant: row.tenant.clone(),
                principal: row.principal.clone(),
                name: name.clone(),
                turn_id: row.turn.id,
                conversation_id: row.turn.conversation_id,
            }));
    }

    /// Starts the first turn that waits in a conversation where none is in progress, on `node` if
    /// that is alive.
    pub(super) fn promote_alone(
        &mut self,
        place: (&TenantId, ConversationId),
        conversation: &ConversationFacts,
        node: NodeId,
        at: Timestamp,
    ) -> Option<PromotedTurn> {
        let mut after = as_it_stands(place, conversation, at);
        let (_, promoted) = self.promote(conversation, &mut after, node, at)?;
        self.advance(conversation, after);
        Some(promoted)
    }

    /// Starts the first turn that waits. Its event names who asked, as that of any start does.
    fn promote(
        &mut self,
        conversation: &ConversationFacts,
        after: &mut ConversationAdvance,
        node: NodeId,
        at: Timestamp,
    ) -> Option<(Seq, PromotedTurn)> {
        let facts = self.facts;
        let waiting = facts.turn(&after.tenant, conversation.first_waiting?)?;
        if !facts.live_nodes.contains(&node) {
            return None;
        }
        let at = at.max(waiting.turn.created_at);
        after.message_count += 1;
        after.updated_at = after.updated_at.max(at);
        after.last_message_at = Some(at);
        let row = TurnRow {
            turn: Turn {
                status: TurnStatus::InProgress,
                agent_version: Some(conversation.agent_version),
                started_at: Some(at),
                ..waiting.turn.clone()
            },
            message_seq: Some(after.message_count),
            turn_number: Some(after.turn_count),
            ..waiting.clone()
        };
        let by_asker = Stamp {
            time: at,
            actor: row.principal.clone(),
        };
        let seq = self.log_turn(
            &after.tenant,
            &by_asker,
            EventType::TurnStarted,
            place(&row.turn, conversation),
        );
        if let Some(message) = row.user_message() {
            self.say(&after.tenant, message);
        }
        self.rows.starts.push(TurnStart {
            tenant: after.tenant.clone(),
            id: row.turn.id,
            node,
            agent_version: conversation.agent_version,
            turn_number: after.turn_count,
            message_seq: after.message_count,
            started_at: at,
        });
        let promoted = PromotedTurn {
            tenant: after.tenant.clone(),
            turn: row.turn,
            principal: row.principal,
            user_id: conversation.user_id.clone(),
            message_id: row.message_id,
            message_seq: after.message_count,
            turn_number: after.turn_count,
        };
        after.turn_count += 1;
        Some((seq, promoted))
    }
}

/// A conversation that has not come further.
fn as_it_stands(
    (tenant, id): (&TenantId, ConversationId),
    conversation: &ConversationFacts,
    at: Timestamp,
) -> ConversationAdvance {
    ConversationAdvance {
        tenant: tenant.clone(),
        id,
        message_count: conversation.message_count,
        turn_count: conversation.turn_count,
        updated_at: at,
        last_message_at: None,
        sort_seq: Seq::default(),
    }
}

fn place<'a>(turn: &Turn, conversation: &'a ConversationFacts) -> TurnPlace<'a> {
    TurnPlace {
        turn_id: turn.id,
        conversation_id: turn.conversation_id,
        agent_id: turn.agent_id,
        user_id: conversation.user_id.as_deref(),
    }
}
