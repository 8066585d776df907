//! The end of a turn that waits for an answer, because the user continues without one.

use domain::{
    FinishReason, RequestUsage, TurnStatus, Unanswered,
    turn_step::{requests, tool_calls},
};
use ports::write_store::TurnRow;

use super::{ending::Ending, turn_admission::ConversationState};
use crate::{BeginTurn, Planner, Reply};

impl Planner<'_> {
    /// Completes the turn that waits in the conversation of a new turn, with its text so far.
    pub(super) fn dismiss(&mut self, begin: &BeginTurn, state: &ConversationState<'_>) {
        let facts = self.facts;
        let ConversationState::Existing(conversation) = state else {
            return;
        };
        let waiting = conversation.running;
        let Some(row) = waiting.and_then(|id| facts.turn(&begin.tenant, id)) else {
            return;
        };
        let journal = facts.journal(&begin.tenant, row.turn.id);
        let requests = requests(journal);
        let reply = stored_reply(row, FinishReason::Dismissed);
        let end = Ending {
            status: TurnStatus::Completed,
            reply: reply.as_ref(),
            tool_calls: &tool_calls(journal, Unanswered::Dismissed),
            usage: RequestUsage::sum(&requests),
            requests: &requests,
            error: None,
        };
        self.end(row, conversation, &end, None, &begin.stamp);
        if begin.supersession.is_some() {
            // That changes these rows, too, and a row must be changed once.
            self.rows.rewritten.pop();
            if let Some(end) = self.rows.ends.last_mut() {
                end.action_expires_at = None;
            }
        }
    }
}

/// Returns the text of a turn that waited as its final reply.
pub(super) fn stored_reply(row: &TurnRow, finish_reason: FinishReason) -> Option<Reply> {
    let message = row.turn.reply.as_ref()?;
    Some(Reply {
        message_id: message.id,
        content: message.content.clone(),
        engine: message.engine.clone().unwrap_or_default(),
        degraded: row.turn.degraded,
        finish_reason,
        usage: message.usage,
        requests: Vec::new(),
        tool_calls: Vec::new(),
    })
}
