//! Answers to tool calls, which clients send within their messages.
//!
//! Nothing of what a client says about the past is believed, except for the answers to calls that
//! wait for them.

use std::collections::HashSet;

use application::{
    TurnError,
    chat::AcceptedTurn,
    turns::{AnswerRejection, CallAnswer},
};
use domain::{
    Action, ActionNeeded, ConversationId, ProblemCode, ToolCall, Turn, TurnEvent, TurnId,
    TurnStatus, tool_call::turn_of_call,
};
use kit::{
    auth::{Authorized, ChatWrite, missing_conversations_read},
    problem::ApiError,
};
use serde_json::Value;

/// The maximum length of the reason of a denial; the rest is not used.
const MAX_REASON_CHARACTERS: usize = 2_000;

/// What a client says about the tool calls of a reply.
#[derive(Debug, Default)]
pub(crate) struct ClientCalls {
    /// The calls that it has received.
    pub(crate) calls: HashSet<String>,
    /// The calls whose ends it has received or sent.
    pub(crate) ended: HashSet<String>,
    /// Its answers, to calls of any state.
    pub(crate) answers: Vec<CallAnswer>,
}

/// The part of a reply that a client has received.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The length of the reasoning, in bytes.
    reasoning: usize,
    /// The length of the text, in bytes.
    text: usize,
    calls: HashSet<String>,
    ended: HashSet<String>,
}

/// A turn whose calls a client answers.
#[derive(Debug)]
pub(crate) struct AnsweredTurn {
    pub(crate) id: TurnId,
    /// The answers to calls that wait for them; none if the client repeats its answers.
    pub(crate) answers: Vec<CallAnswer>,
    pub(crate) seen: Seen,
}

impl ClientCalls {
    /// Finds the turn of the newest answer, if it is one of this conversation.
    pub(crate) async fn find_turn(
        self,
        authorized: &Authorized<ChatWrite>,
        conversation: Option<ConversationId>,
    ) -> Result<Option<AnsweredTurn>, ApiError> {
        let newest = self.answers.last().map(|answer| &*answer.call_id);
        let (Some(id), Some(conversation)) = (newest.and_then(turn_of_call), conversation) else {
            return Ok(None);
        };
        let turn = match authorized.turns.get(authorized.caller(), id).await {
            Err(TurnError::NotFound) => return Ok(None),
            found => found?.value,
        };
        if turn.conversation_id != conversation {
            return Ok(None);
        }
        let mut calls = self.calls;
        calls.extend(self.answers.iter().map(|answer| answer.call_id.clone()));
        if turn.status == TurnStatus::RequiresAction {
            // Who answers has received the question, whatever else it repeats.
            calls.extend(turn.tool_calls.iter().map(|call| call.id.clone()));
        }
        let known = turn.tool_calls.iter().filter(|it| calls.contains(&it.id));
        Ok(Some(AnsweredTurn {
            id,
            seen: Seen {
                reasoning: seen_reasoning(&turn, &calls),
                text: known.map(|call| call.at).max().unwrap_or_default(),
                calls,
                ended: self.ended,
            },
            answers: open_answers(self.answers, &turn.tool_calls),
        }))
    }
}

/// Returns the length of the reasoning that a client has received which has received these calls. What came after the
/// turn has waited is not sent again to a client that repeats its answers: it may have any part of it.
fn seen_reasoning(turn: &Turn, calls: &HashSet<String>) -> usize {
    match &turn.reasoning {
        Some(reasoning) if turn.status == TurnStatus::RequiresAction => reasoning.text.len(),
        _ if calls.is_empty() => 0,
        _ => usize::MAX,
    }
}

/// Returns the ids of the calls that need approval.
pub(crate) fn awaiting_approval(calls: &[ToolCall]) -> Vec<String> {
    let waiting = calls.iter();
    let waiting = waiting.filter(|call| call.needs_of_user() == Some(ActionNeeded::Approval));
    waiting.map(|call| call.id.clone()).collect()
}

/// Returns a denial with the reason of a client, if that is a text.
pub(crate) fn denial(reason: &Value) -> Action {
    let reason = reason.as_str().filter(|reason| !reason.is_empty());
    let letters = |reason: &str| {
        let letters = reason.chars().filter(|letter| *letter != '\0');
        letters.take(MAX_REASON_CHARACTERS).collect()
    };
    Action::Deny {
        reason: reason.map(letters),
    }
}

/// Returns the answers to calls that wait for such an answer, and decisions about those that are
/// decided or run: it may have been another decision.
fn open_answers(answers: Vec<CallAnswer>, calls: &[ToolCall]) -> Vec<CallAnswer> {
    let is_open = |answer: &CallAnswer| {
        let call = calls.iter().find(|call| call.id == answer.call_id);
        let answers = answer.action.answers();
        call.is_some_and(|call| {
            let is_decided = call.decided_at.is_some() || call.status == ToolCall::RUNNING;
            let is_decision = answers == ActionNeeded::Approval && is_decided;
            call.needs_of_user() == Some(answers) || is_decision
        })
    };
    answers.into_iter().filter(is_open).collect()
}

impl AnsweredTurn {
    /// Gives the answers, and follows the turn from its beginning.
    pub(crate) async fn follow(
        self,
        authorized: &Authorized<ChatWrite>,
    ) -> Result<(AcceptedTurn, Seen), ApiError> {
        let is_repeated = self.answers.is_empty();
        self.give(authorized).await?;
        let (chat, caller) = (&authorized.chat, authorized.caller());
        let found = chat.find_turn(caller, self.id).await?;
        let turn = found.ok_or(ApiError::new(ProblemCode::TurnNotFound))?;
        if is_repeated && !caller.may_follow(&turn.subject().started_by) {
            return Err(missing_conversations_read());
        }
        Ok((turn, self.seen))
    }

    /// Gives the answers before another message, for which it may be too late.
    pub(crate) async fn give_before_message(
        &self,
        authorized: &Authorized<ChatWrite>,
    ) -> Result<(), ApiError> {
        use AnswerRejection::{Decided, Expired};
        match self.give(authorized).await {
            Err(TurnError::Answer {
                reason: Decided { .. } | Expired,
                ..
            }) => Ok(()),
            given => Ok(given?),
        }
    }

    async fn give(&self, authorized: &Authorized<ChatWrite>) -> Result<(), TurnError> {
        if self.answers.is_empty() {
            return Ok(());
        }
        let (turns, caller) = (&authorized.turns, authorized.caller());
        let answering = turns.answer(caller, self.id, self.answers.clone());
        answering.await.map(|_| ())
    }
}

impl Seen {
    /// Returns whether the client has received what an event tells. Text ends where calls begin.
    pub(crate) fn has(&self, event: &TurnEvent) -> bool {
        match event {
            TurnEvent::Reasoning(delta) => delta.to <= self.reasoning,
            TurnEvent::Delta(delta) => delta.to <= self.text,
            TurnEvent::ToolCalled(call) => self.has_call(&call.id),
            TurnEvent::ToolReturned(call) => self.ended.contains(&call.id),
            _ => false,
        }
    }

    /// Returns the length of the reasoning, in bytes.
    pub(crate) const fn reasoning(&self) -> usize {
        self.reasoning
    }

    /// Returns the length of the text, in bytes.
    pub(crate) const fn text(&self) -> usize {
        self.text
    }

    /// Returns whether the client has received calls, and thereby the beginning of the reply.
    pub(crate) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Returns whether the client has received a call.
    pub(crate) fn has_call(&self, id: &str) -> bool {
        self.calls.contains(id)
    }
}

#[cfg(test)]
mod tests;
