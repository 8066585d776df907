//! The end of a turn for any reason, and the start of the next one.

use domain::{
    ConversationId, EventType, NodeId, Problem, Seq, Stamp, TenantId, Timestamp, ToolCall, Turn,
    TurnStatus, conversation::excerpt,
};
use ports::{
    AnsweredMessage, PromotedTurn, Reply, TurnMessages,
    write_store::{
        ConversationAdvance, ConversationFacts, ReleasedKey, TurnEnd, TurnRow, TurnStart,
    },
};

use crate::{Planner, event_rows::TurnIds};

/// The end of a turn.
pub(super) struct Ending<'a> {
    /// The event of the end.
    pub(super) kind: EventType,
    /// The final status.
    pub(super) status: TurnStatus,
    /// The agent's reply.
    pub(super) reply: Option<&'a Reply>,
    /// The tool calls.
    pub(super) tool_calls: &'a [ToolCall],
    /// The reason of a failure.
    pub(super) error: Option<&'a Problem>,
}

impl<'a> Ending<'a> {
    /// The failure of a turn whose tool calls, if it had any, were only in the memory of its node.
    pub(super) const fn failure(problem: &'a Problem) -> Self {
        Self {
            kind: EventType::TurnFailed,
            status: TurnStatus::Failed,
            reply: None,
            tool_calls: &[],
            error: Some(problem),
        }
    }
}

impl Planner<'_> {
    /// Ends a turn. If it was running, starts the next queued turn on `node`, if that is given and
    /// alive. Returns the positions of the first and last event.
    pub(super) fn end(
        &mut self,
        row: &TurnRow,
        conversation: &ConversationFacts,
        end: &Ending<'_>,
        node: Option<NodeId>,
        stamp: &Stamp,
    ) -> (Seq, Seq, Option<PromotedTurn>) {
        let was_running = row.turn.status == TurnStatus::InProgress;
        let reply = end.reply.filter(|_| was_running);
        let ids = turn_ids(&row.turn, conversation);
        let first = self.log_turn(&row.tenant, stamp, end.kind, ids);
        let key = (&row.tenant, row.turn.conversation_id);
        // A node with another clock may have started the turn.
        let finished_at = stamp.time.max(row.turn.latest_time());
        let mut after = unchanged(key, conversation);
        if let Some(reply) = reply {
            after.last_message_seq += 1;
            after.updated_at = finished_at;
            after.last_message_at = Some(finished_at);
            after.excerpt = Some(excerpt(&reply.content));
            let message = reply.message(&row.turn, after.last_message_seq, finished_at);
            self.push_message(&row.tenant, message);
        }
        self.rows.ends.push(TurnEnd {
            tenant: row.tenant.clone(),
            id: row.turn.id,
            status: end.status,
            reply_seq: reply.map(|_| after.last_message_seq),
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
            self.release_key(row);
        }
        let promoted = node
            .filter(|_| was_running)
            .and_then(|node| self.promote(conversation, &mut after, node, finished_at));
        let last = promoted.as_ref().map_or(first, |(seq, _)| *seq);
        self.advance(conversation, after);
        (first, last, promoted.map(|(_, turn)| turn))
    }

    /// Releases a turn's idempotency key for another turn in the same conversation.
    fn release_key(&mut self, row: &TurnRow) {
        self.rows
            .released
            .extend(row.idempotency.iter().map(|name| ReleasedKey {
                tenant: row.tenant.clone(),
                principal: row.principal.clone(),
                name: name.clone(),
                turn_id: row.turn.id,
                conversation_id: row.turn.conversation_id,
            }));
    }

    /// Raises the position of a conversation whose turns have changed, but not its messages.
    pub(super) fn touch(
        &mut self,
        key: (&TenantId, ConversationId),
        conversation: &ConversationFacts,
    ) {
        self.advance(conversation, unchanged(key, conversation));
    }

    /// Starts the next queued turn of a conversation without a running turn, if `node` is alive.
    pub(super) fn promote_next(
        &mut self,
        key: (&TenantId, ConversationId),
        conversation: &ConversationFacts,
        node: NodeId,
        at: Timestamp,
    ) -> Option<PromotedTurn> {
        let mut after = unchanged(key, conversation);
        let (_, promoted) = self.promote(conversation, &mut after, node, at)?;
        self.advance(conversation, after);
        Some(promoted)
    }

    /// Starts the next queued turn. The actor of its event is the principal that sent the message.
    fn promote(
        &mut self,
        conversation: &ConversationFacts,
        after: &mut ConversationAdvance,
        node: NodeId,
        at: Timestamp,
    ) -> Option<(Seq, PromotedTurn)> {
        let facts = self.facts;
        let waiting = facts.turn(&after.tenant, conversation.first_waiting?)?;
        if waiting.is_left_to_newer() || !facts.live_nodes.contains(&node) {
            return None;
        }
        let at = at.max(waiting.turn.created_at);
        after.last_message_seq += 1;
        after.updated_at = after.updated_at.max(at);
        after.last_message_at = Some(at);
        after.excerpt = Some(excerpt(&waiting.turn.input));
        let row = TurnRow {
            turn: Turn {
                status: TurnStatus::InProgress,
                agent_version: Some(conversation.agent_version),
                started_at: Some(at),
                ..waiting.turn.clone()
            },
            message_seq: Some(after.last_message_seq),
            turn_number: Some(after.turn_count),
            ..waiting.clone()
        };
        let by_caller = Stamp {
            time: at,
            actor: row.principal.clone(),
        };
        let ids = turn_ids(&row.turn, conversation);
        let seq = self.log_turn(&after.tenant, &by_caller, EventType::TurnStarted, ids);
        if let Some(message) = row.user_message() {
            self.push_message(&after.tenant, message);
        }
        self.rows.starts.push(TurnStart {
            tenant: after.tenant.clone(),
            id: row.turn.id,
            node,
            agent_version: conversation.agent_version,
            turn_number: after.turn_count,
            message_seq: after.last_message_seq,
            started_at: at,
        });
        let promoted = promoted_turn(row, conversation, after);
        after.turn_count += 1;
        Some((seq, promoted))
    }
}

/// The started turn of `row`, whose message is the last one of the conversation.
fn promoted_turn(
    row: TurnRow,
    conversation: &ConversationFacts,
    after: &ConversationAdvance,
) -> PromotedTurn {
    let place = TurnMessages {
        message: AnsweredMessage {
            id: row.message_id,
            seq: after.last_message_seq,
        },
        reply_seq: after.last_message_seq + 1,
        turn_number: after.turn_count,
        retry_of: None,
    };
    PromotedTurn {
        tenant: after.tenant.clone(),
        turn: row.turn,
        principal: row.principal,
        user_id: conversation.user_id.clone(),
        place,
        reply_id: row.reply_id,
    }
}

/// The changed columns of a conversation before any change is added.
fn unchanged(
    (tenant, id): (&TenantId, ConversationId),
    conversation: &ConversationFacts,
) -> ConversationAdvance {
    ConversationAdvance {
        tenant: tenant.clone(),
        id,
        last_message_seq: conversation.last_message_seq,
        superseded_count: conversation.superseded_count,
        turn_count: conversation.turn_count,
        updated_at: conversation.updated_at,
        last_message_at: None,
        excerpt: None,
        sort_seq: Seq::default(),
    }
}

fn turn_ids<'a>(turn: &Turn, conversation: &'a ConversationFacts) -> TurnIds<'a> {
    TurnIds {
        turn: turn.id,
        conversation: turn.conversation_id,
        agent: turn.agent_id,
        user: conversation.user_id.as_deref(),
    }
}
