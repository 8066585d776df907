//! The start of the next queued turn.

use domain::{
    ConversationId, EventType, NodeId, Stamp, TenantId, Timestamp, Turn, TurnStatus,
    conversation::excerpt,
};
use ports::write_store::{ConversationAdvance, ConversationFacts, TurnRow, TurnStart};

use super::ending::{turn_ids, unchanged};
use crate::{Planner, PromotedTurn, TurnMessages};

impl Planner<'_> {
    /// Starts the next queued turn of a conversation without a running turn, if `node` is alive.
    pub(super) fn promote_next(
        &mut self,
        key: (&TenantId, ConversationId),
        conversation: &ConversationFacts,
        node: NodeId,
        at: Timestamp,
    ) -> Option<PromotedTurn> {
        let mut after = unchanged(key, conversation);
        let promoted = self.promote(conversation, &mut after, node, at)?;
        self.advance(conversation, after);
        Some(promoted)
    }

    /// Starts the next queued turn. The actor of its event is the principal that sent the message.
    pub(super) fn promote(
        &mut self,
        conversation: &ConversationFacts,
        after: &mut ConversationAdvance,
        node: NodeId,
        at: Timestamp,
    ) -> Option<PromotedTurn> {
        let facts = self.facts;
        let waiting = facts.turn(&after.tenant, conversation.first_waiting?)?;
        if waiting.is_left_to_newer() || !facts.live_nodes.contains(&node) {
            return None;
        }
        let at = at.max(waiting.turn.created_at);
        // Where the message of a turn without one would stand, its reply will.
        let message_seq = after.last_message_seq + 1;
        after.updated_at = after.updated_at.max(at);
        if waiting.turn.has_message() {
            after.last_message_seq = message_seq;
            after.last_message_at = Some(at);
            after.excerpt = Some(excerpt(&waiting.turn.input, &waiting.turn.files));
            if conversation.is_for_staff() {
                after.waiting_since.get_or_insert(at);
            }
        }
        let row = TurnRow {
            turn: Turn {
                status: TurnStatus::InProgress,
                agent_version: Some(conversation.agent_version),
                started_at: Some(at),
                ..waiting.turn.clone()
            },
            message_seq: Some(message_seq),
            turn_number: Some(after.turn_count),
            is_for_staff: conversation.is_for_staff(),
            ..waiting.clone()
        };
        let promoted = PromotedTurn {
            journal: facts.journal(&after.tenant, row.turn.id).to_vec(),
            ..promoted_turn(&row, conversation)?
        };
        let by_caller = Stamp {
            time: at,
            actor: row.principal.clone(),
        };
        let ids = turn_ids(&row.turn, conversation);
        self.log_turn(&after.tenant, &by_caller, EventType::TurnStarted, ids);
        if let Some(message) = row.user_message() {
            self.push_message(&after.tenant, message);
        }
        self.rows.starts.push(TurnStart {
            tenant: after.tenant.clone(),
            id: row.turn.id,
            node,
            agent_version: conversation.agent_version,
            turn_number: after.turn_count,
            message_seq,
            is_for_staff: row.is_for_staff,
            started_at: at,
        });
        after.turn_count += 1;
        Some(promoted)
    }
}

/// Converts the started turn of `row` for the node that is to run it.
pub(super) fn promoted_turn(
    row: &TurnRow,
    conversation: &ConversationFacts,
) -> Option<PromotedTurn> {
    Some(PromotedTurn {
        tenant: row.tenant.clone(),
        turn: row.turn.clone(),
        principal: row.principal.clone(),
        user_id: conversation.user_id.clone(),
        messages: TurnMessages::of(row, Some(conversation))?,
        reply_id: row.reply_id,
        client_tools: row.client_tools.clone(),
        response_schema: row.response_schema.clone(),
        journal: Vec::new(),
    })
}
