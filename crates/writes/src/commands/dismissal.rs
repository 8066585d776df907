//! The end of a turn that waits for an answer, because the user continues without one.

use domain::{
    ConversationId, FinishReason, RequestUsage, Stamp, TenantId, TurnStatus, Unanswered,
    turn_step::{requests, tool_calls},
};
use ports::{
    Facts, FactsQuery,
    write_store::{ConversationFacts, InTenant, TurnRow},
};

use super::{ending::Ending, turn_admission::ConversationState};
use crate::{BeginTurn, Planner, Reply};

/// Adds the turn that waits for an answer in a conversation, if one does.
pub(super) fn needs_more(key: &InTenant<ConversationId>, facts: &Facts, query: &mut FactsQuery) {
    let found = facts.conversations.get(key);
    let waiting = found.filter(|found| found.is_waiting);
    if let Some(waiting) = waiting.and_then(|found| found.running) {
        query.turns.insert((key.0.clone(), waiting));
        query.journals.insert((key.0.clone(), waiting));
    }
}

impl Planner<'_> {
    /// Completes the turn that waits in the conversation of a new turn, with its text so far.
    pub(super) fn dismiss(&mut self, begin: &BeginTurn, state: &ConversationState<'_>) {
        let ConversationState::Existing(conversation) = state else {
            return;
        };
        if self.dismiss_waiting(&begin.tenant, conversation, &begin.stamp)
            && begin.supersession.is_some()
        {
            // That changes these rows, too, and a row must be changed once.
            self.rows.rewritten.pop();
            if let Some(end) = self.rows.ends.last_mut() {
                end.action_expires_at = None;
            }
        }
    }

    /// Completes the turn that waits for an answer, with its text so far. Returns false if none waits.
    pub(super) fn dismiss_waiting(
        &mut self,
        tenant: &TenantId,
        conversation: &ConversationFacts,
        stamp: &Stamp,
    ) -> bool {
        let facts = self.facts;
        let waiting = conversation.running.filter(|_| conversation.is_waiting);
        let Some(row) = waiting.and_then(|id| facts.turn(tenant, id)) else {
            return false;
        };
        let journal = facts.journal(tenant, row.turn.id);
        let requests = requests(journal);
        let reply = stored_reply(row, FinishReason::Dismissed);
        let end = Ending {
            status: TurnStatus::Completed,
            reply: reply.as_ref(),
            tool_calls: &tool_calls(journal, Unanswered::Dismissed),
            usage: RequestUsage::sum(&requests),
            requests: &requests,
            reasoning: None,
            error: None,
        };
        self.end(row, conversation, &end, None, stamp);
        true
    }
}

/// Returns the text of a turn that waited as its final reply.
pub(super) fn stored_reply(row: &TurnRow, finish_reason: FinishReason) -> Option<Reply> {
    let message = row.turn.reply.as_ref()?;
    Some(Reply {
        message_id: message.id,
        content: message.content.clone(),
        engine: message.engine.clone().unwrap_or_default(),
        model: message.model.clone(),
        degraded: row.turn.degraded,
        finish_reason,
        output: None,
        repaired: false,
        usage: message.usage,
        requests: Vec::new(),
        tool_calls: Vec::new(),
    })
}
