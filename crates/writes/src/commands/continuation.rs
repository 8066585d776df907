//! The turn that reports the outcome of a call that staff has decided.

use std::mem;

use domain::{
    ContinuedCall, EventType, LEVEL, ModelResponse, Timestamp, ToolCall, ToolEnd, ToolStep, Turn,
    TurnStatus, TurnStep, Unanswered, tool_call::KeptCallData,
};
use ports::write_store::{ConversationFacts, StepRow, TurnRow, TurnWait};

use super::{
    answer_turn::{AnswerOutcome, AnswerTurn},
    ending::{next_expiry, next_expiry_of_questions, turn_ids, unchanged},
    promotion::promoted_turn,
};
use crate::{Committed, Planner, PromotedTurn};

impl AnswerTurn {
    /// Begins the turn that makes the decided call in entry `number` of the journal, or reports why it is not
    /// made.
    pub(super) fn continue_with(
        &self,
        planner: &mut Planner<'_>,
        (row, conversation): (&TurnRow, &ConversationFacts),
        journal: &[TurnStep],
        (number, decided): (usize, &ToolStep),
    ) -> AnswerOutcome {
        let steps = carried_steps(journal, number, decided);
        planner.rows.waits.push(self.with_decision(row, decided));
        let is_free = conversation.running.is_none() && conversation.first_waiting.is_none();
        let mut begun = self.row(row, conversation, &decided.call_id, is_free);
        let kind = if is_free {
            EventType::TurnStarted
        } else {
            EventType::TurnQueued
        };
        let ids = turn_ids(&begun.turn, conversation);
        let first = planner.log_turn(&self.tenant, &self.stamp, kind, ids);
        begun.sort_seq = first;
        begun.queued_seq = (!is_free).then_some(first);
        let mut after = unchanged((&self.tenant, self.conversation_id), conversation);
        if is_free {
            after.turn_count += 1;
            after.updated_at = self.stamp.time;
        }
        planner.advance(conversation, after);
        let rows = steps.iter().enumerate().map(|(number, step)| StepRow {
            tenant: self.tenant.clone(),
            turn_id: self.continuation,
            number,
            step: step.clone(),
        });
        planner.rows.steps.extend(rows);
        let resumed = promoted_turn(&begun, conversation).map(|promoted| {
            Box::new(PromotedTurn {
                journal: steps,
                ..promoted
            })
        });
        planner.rows.turns.push(begun);
        AnswerOutcome::Stored {
            committed: Committed::at(first),
            resumed: resumed.filter(|_| is_free),
            continuation: Some(self.continuation),
        }
    }

    /// The columns of the earlier turn that show the decision.
    fn with_decision(&self, row: &TurnRow, decided: &ToolStep) -> TurnWait {
        let mut tool_calls = row.turn.tool_calls.clone();
        let shown = tool_calls
            .iter_mut()
            .find(|call| call.id == decided.call_id);
        if let Some(call) = shown {
            let after = decided.shown(&mut KeptCallData::default(), Unanswered::Dismissed);
            *call = ToolCall {
                // Those of other calls may have left no room for them.
                arguments: call.arguments.take(),
                unknown: mem::take(&mut call.unknown),
                ..after
            };
        }
        TurnWait {
            tenant: self.tenant.clone(),
            id: self.turn_id,
            reply_seq: row.reply_seq,
            expires_at: match row.turn.status {
                TurnStatus::RequiresAction => next_expiry_of_questions(&tool_calls),
                _ => next_expiry(tool_calls.iter()),
            },
            tool_calls,
            reasoning: None,
        }
    }

    /// The row of the new turn. It has no message of the user: where that would stand, its reply will.
    fn row(
        &self,
        continued: &TurnRow,
        conversation: &ConversationFacts,
        call_id: &str,
        is_free: bool,
    ) -> TurnRow {
        let at: Timestamp = self.stamp.time;
        let turn = Turn {
            id: self.continuation,
            status: if is_free {
                TurnStatus::InProgress
            } else {
                TurnStatus::Queued
            },
            agent_version: is_free.then_some(conversation.agent_version),
            input: String::new(),
            files: Vec::new(),
            client_message_id: None,
            retry_of: None,
            instruction: None,
            continues: Some(ContinuedCall {
                turn_id: self.turn_id,
                call_id: Some(call_id.to_owned()),
            }),
            reply: None,
            engine: None,
            model: None,
            degraded: false,
            finish_reason: None,
            usage: None,
            tool_calls: Vec::new(),
            output: None,
            repaired: false,
            reasoning: None,
            error: None,
            created_at: at,
            started_at: is_free.then_some(at),
            finished_at: None,
            ..continued.turn.clone()
        };
        TurnRow {
            tenant: self.tenant.clone(),
            turn,
            principal: self.stamp.actor.clone(),
            message_id: self.reply_id,
            reuses_message: true,
            is_for_staff: conversation.is_for_staff(),
            reply_id: Some(self.reply_id),
            message_seq: is_free.then_some(conversation.last_message_seq + 1),
            turn_number: is_free.then_some(conversation.turn_count),
            reply_seq: None,
            node: is_free.then_some(self.node),
            queued_seq: None,
            idempotency: None,
            level: Some(LEVEL),
            action_expires_at: None,
            client_tools: Vec::new(),
            ..continued.clone()
        }
    }
}

/// The entries with which the new turn begins: the call, with the response that asked for it. An approved
/// call is still to be made.
fn carried_steps(journal: &[TurnStep], number: usize, decided: &ToolStep) -> Vec<TurnStep> {
    let mut before = journal[..number].iter().rev();
    let response = before.find_map(|step| match step {
        TurnStep::Model(response) => Some(response.clone()),
        _ => None,
    });
    let response = ModelResponse {
        model: None,
        text: String::new(),
        requests: Vec::new(),
        reasoning: None,
        ..response.unwrap_or_default()
    };
    let is_approved = |end: &ToolEnd| end.status == ToolCall::APPROVED;
    let call = ToolStep {
        at: 0,
        end: decided.end.clone().filter(|end| !is_approved(end)),
        ..decided.clone()
    };
    vec![TurnStep::Model(response), TurnStep::Tool(call)]
}
