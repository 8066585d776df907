//! The end of a turn for any reason.

use domain::{
    ConversationId, EventType, FinishReason, NodeId, Problem, Reasoning, RequestUsage, Seq, Stamp,
    TenantId, Timestamp, ToolCall, Turn, TurnId, TurnStatus, Usage, UsageKind,
    conversation::excerpt,
};
use ports::{
    Facts, FactsQuery,
    write_store::{
        ConversationAdvance, ConversationFacts, MessageRow, ReleasedKey, TurnEnd, TurnRow, UsageRow,
    },
};

use super::dismissal::stored_reply;
use crate::{Committed, Planner, PromotedTurn, Reply, event_rows::TurnIds};

/// The end of a turn.
pub(super) struct Ending<'a> {
    /// The final status.
    pub(super) status: TurnStatus,
    /// The agent's reply.
    pub(super) reply: Option<&'a Reply>,
    /// The tool calls.
    pub(super) tool_calls: &'a [ToolCall],
    /// The sum of the token counts.
    pub(super) usage: Option<Usage>,
    /// The requests to models.
    pub(super) requests: &'a [RequestUsage],
    /// The model's reasoning; `None` keeps what is stored already.
    pub(super) reasoning: Option<&'a Reasoning>,
    /// The reason of a failure.
    pub(super) error: Option<&'a Problem>,
}

impl<'a> Ending<'a> {
    /// The failure of a turn that made these calls and requests. Those since its last step, if it had any,
    /// were only in the memory of its node.
    pub(super) fn failure(
        problem: &'a Problem,
        tool_calls: &'a [ToolCall],
        requests: &'a [RequestUsage],
    ) -> Self {
        Self {
            status: TurnStatus::Failed,
            reply: None,
            tool_calls,
            usage: RequestUsage::sum(requests),
            requests,
            reasoning: None,
            error: Some(problem),
        }
    }
}

/// The outcome of ending a turn.
pub(super) struct Ended {
    /// The positions of its events.
    pub(super) committed: Committed,
    /// The turn that it started.
    pub(super) promoted: Option<Box<PromotedTurn>>,
}

/// Adds a turn that ends and, if the end `promotes` one, the turn that starts then.
pub(super) fn needs_more(
    (tenant, conversation): (&TenantId, ConversationId),
    ending: TurnId,
    promotes: bool,
    facts: &Facts,
    query: &mut FactsQuery,
) {
    let found = facts.conversation(tenant, conversation);
    let next = found
        .filter(|_| promotes)
        .and_then(|found| found.first_waiting);
    let turns = [ending].into_iter().chain(next);
    query.turns.extend(turns.map(|turn| (tenant.clone(), turn)));
    // A continuation begins with entries.
    let has_entries = found.is_some_and(|found| found.continuations > 0);
    let with_entries = next.filter(|_| has_entries);
    query
        .journals
        .extend(with_entries.map(|turn| (tenant.clone(), turn)));
}

impl Planner<'_> {
    /// Ends a turn. If it was running, starts the next queued turn on `node`, if that is given and
    /// alive.
    pub(super) fn end(
        &mut self,
        row: &TurnRow,
        conversation: &ConversationFacts,
        end: &Ending<'_>,
        node: Option<NodeId>,
        stamp: &Stamp,
    ) -> Ended {
        let was_running = row.has_begun();
        // The text of a turn that has waited stays, but it waits no more.
        let cut_off = stored_reply(row, FinishReason::Cancelled);
        let reply = end.reply.or(cut_off.as_ref()).filter(|_| was_running);
        let ids = turn_ids(&row.turn, conversation);
        let first = self.log_turn(&row.tenant, stamp, event_of(end.status), ids);
        let key = (&row.tenant, row.turn.conversation_id);
        // A node with another clock may have started the turn.
        let finished_at = stamp.time.max(row.turn.latest_time());
        let mut after = unchanged(key, conversation);
        let reply_seq = reply.map(|reply| self.write_reply(row, reply, &mut after, finished_at));
        let waiting = end.tool_calls.iter().filter(|_| was_running);
        self.rows.ends.push(TurnEnd {
            tenant: row.tenant.clone(),
            id: row.turn.id,
            status: end.status,
            reply_seq: reply_seq.or(row.reply_seq),
            degraded: reply.is_some_and(|reply| reply.degraded),
            tool_calls: if was_running || row.turn.continues.is_some() {
                end.tool_calls.to_vec()
            } else {
                Vec::new()
            },
            usage: end.usage.filter(|_| was_running),
            reasoning: end.reasoning.filter(|_| was_running).cloned(),
            error: end.error.cloned(),
            finished_at,
            action_expires_at: next_expiry(waiting),
        });
        if was_running {
            let user = conversation.user_id.as_deref();
            self.push_usage(row, user, end.requests, finished_at);
        }
        if end.error.is_some_and(|problem| problem.retryable) {
            self.release_key(row);
        }
        let promoted = node
            .filter(|_| was_running)
            .and_then(|node| self.promote(conversation, &mut after, node, finished_at));
        self.advance(conversation, after);
        Ended {
            committed: Committed {
                first,
                last: self.head(&row.tenant),
            },
            promoted: promoted.map(Box::new),
        }
    }

    /// Writes the requests of a turn to models.
    pub(super) fn push_usage(
        &mut self,
        row: &TurnRow,
        user: Option<&str>,
        requests: &[RequestUsage],
        at: Timestamp,
    ) {
        let rows = requests.iter().map(|request| UsageRow {
            tenant: row.tenant.clone(),
            turn_id: row.turn.id,
            kind: UsageKind::Chat,
            agent_id: row.turn.agent_id,
            agent_version: row.turn.agent_version,
            conversation_id: row.turn.conversation_id,
            user_id: user.map(str::to_owned),
            principal: row.principal.clone(),
            request: request.clone(),
            at,
        });
        self.rows.usage.extend(rows);
    }

    /// Writes the agent's message, or its new content if the turn has waited. Returns its position.
    pub(super) fn write_reply(
        &mut self,
        row: &TurnRow,
        reply: &Reply,
        after: &mut ConversationAdvance,
        at: Timestamp,
    ) -> i64 {
        after.updated_at = at;
        after.last_message_at = Some(at);
        // What staff has written since is newer than a message that has a place already.
        let is_newest = |seq| seq == after.last_message_seq || after.staff_messages == 0;
        if row.reply_seq.is_none_or(is_newest) {
            after.excerpt = Some(excerpt(&reply.content, &[]));
        }
        if let Some(seq) = row.reply_seq {
            self.rows.rewritten.push(MessageRow {
                tenant: row.tenant.clone(),
                message: reply.message(&row.turn, seq, at),
            });
            return seq;
        }
        after.last_message_seq += 1;
        let message = reply.message(&row.turn, after.last_message_seq, at);
        self.push_message(&row.tenant, message);
        after.last_message_seq
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
}

/// Returns the time from which the first of these calls can no longer be answered.
pub(super) fn next_expiry<'c>(calls: impl Iterator<Item = &'c ToolCall>) -> Option<Timestamp> {
    calls.filter_map(|call| call.expires_at).min()
}

/// Returns the same for the calls for which a turn waits.
pub(super) fn next_expiry_of_questions(calls: &[ToolCall]) -> Option<Timestamp> {
    next_expiry(calls.iter().filter(|call| call.needs_of_user().is_some()))
}

/// The event of a turn that ends with a status.
const fn event_of(status: TurnStatus) -> EventType {
    match status {
        TurnStatus::Completed => EventType::TurnCompleted,
        TurnStatus::Cancelled => EventType::TurnCancelled,
        // No turn ends with the last three.
        TurnStatus::Failed
        | TurnStatus::Queued
        | TurnStatus::InProgress
        | TurnStatus::RequiresAction => EventType::TurnFailed,
    }
}

/// The changed columns of a conversation before any change is added.
pub(super) fn unchanged(
    (tenant, id): (&TenantId, ConversationId),
    conversation: &ConversationFacts,
) -> ConversationAdvance {
    ConversationAdvance {
        tenant: tenant.clone(),
        id,
        last_message_seq: conversation.last_message_seq,
        superseded_count: conversation.superseded_count,
        staff_messages: conversation.staff_messages,
        turn_count: conversation.turn_count,
        waiting_since: conversation.waiting_since,
        updated_at: conversation.updated_at,
        last_message_at: None,
        excerpt: None,
        sort_seq: Seq::default(),
    }
}

/// The ids for the events of a turn.
pub(super) fn turn_ids<'a>(turn: &Turn, conversation: &'a ConversationFacts) -> TurnIds<'a> {
    TurnIds {
        turn: turn.id,
        conversation: turn.conversation_id,
        agent: turn.agent_id,
        user: conversation.user_id.as_deref(),
    }
}
