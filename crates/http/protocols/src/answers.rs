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
use domain::{Action, ActionNeeded, ConversationId, ProblemCode, ToolCall, TurnEvent, TurnId};
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
        let (Some(id), Some(conversation)) = (newest.and_then(turn_of), conversation) else {
            return Ok(None);
        };
        let turn = match authorized.turns.get(authorized.caller(), id).await {
            Err(TurnError::NotFound) => return Ok(None),
            found => found?.value,
        };
        if turn.conversation_id != conversation {
            return Ok(None);
        }
        let known = turn.tool_calls.iter();
        let known = known.filter(|call| self.calls.contains(&call.id));
        Ok(Some(AnsweredTurn {
            id,
            seen: Seen {
                text: known.map(|call| call.at).max().unwrap_or_default(),
                calls: self.calls,
                ended: self.ended,
            },
            answers: open_answers(self.answers, &turn.tool_calls),
        }))
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

/// Returns the turn of a call.
fn turn_of(call_id: &str) -> Option<TurnId> {
    call_id.rsplit_once('-')?.0.parse().ok()
}

/// Returns the answers to calls that wait for such an answer, and decisions about those that are
/// decided: it may have been another decision.
fn open_answers(answers: Vec<CallAnswer>, calls: &[ToolCall]) -> Vec<CallAnswer> {
    let is_open = |answer: &CallAnswer| {
        let call = calls.iter().find(|call| call.id == answer.call_id);
        let answers = answer.action.answers();
        call.is_some_and(|call| {
            let is_decision = answers == ActionNeeded::Approval && call.decided_at.is_some();
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
            TurnEvent::Delta(delta) => delta.to <= self.text,
            TurnEvent::ToolCalled(call) => self.has_call(&call.id),
            TurnEvent::ToolReturned(call) => self.ended.contains(&call.id),
            _ => false,
        }
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
mod tests {
    use domain::{ReplyDelta, ToolReturned};
    use serde_json::json;

    use super::*;

    const TURN: &str = "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11";

    fn delta(from: usize, text: &str) -> TurnEvent {
        TurnEvent::Delta(ReplyDelta {
            turn_id: TURN.parse().unwrap(),
            conversation_id: None,
            from,
            to: from + text.len(),
            text: text.to_owned(),
            attempt: None,
        })
    }

    #[test]
    fn only_what_follows_is_new() {
        let calls = HashSet::from(["a".to_owned()]);
        let seen = Seen {
            text: 4,
            ended: calls.clone(),
            calls,
        };
        assert!(seen.has(&delta(0, "Let ")));
        assert!(!seen.has(&delta(4, "me")));
        let returned = |id: &str| {
            TurnEvent::ToolReturned(ToolReturned {
                turn_id: TURN.parse().unwrap(),
                conversation_id: None,
                id: id.to_owned(),
                at: 4,
                name: "clock".to_owned(),
                status: "ok".to_owned(),
                duration_ms: 1,
                result: None,
            })
        };
        assert!(seen.has(&returned("a")));
        assert!(!seen.has(&returned("b")));
    }

    #[test]
    fn the_id_of_a_call_names_its_turn() {
        assert_eq!(turn_of(&format!("{TURN}-12")), TURN.parse().ok());
        assert_eq!(turn_of("call_1"), None);
    }

    #[test]
    fn only_answers_to_open_calls_are_used() {
        let call = |id: &str, needs: Option<&str>| -> ToolCall {
            let mut call = json!({
                "id": id, "name": "clock", "arguments": {}, "status": "waiting", "durationMs": 0,
            });
            if let Some(needs) = needs {
                call["needs"] = needs.into();
            }
            serde_json::from_value(call).unwrap()
        };
        let calls = [
            call("a", None),
            call("b", Some("approval")),
            call("c", Some("output")),
        ];
        let answer = |id: &str, action: Action| CallAnswer {
            call_id: id.to_owned(),
            action,
        };
        let output = Action::Output("4".to_owned());
        let answers = vec![
            answer("a", Action::Approve),
            answer("b", Action::Approve),
            answer("b", output.clone()),
            answer("c", output.clone()),
            answer("d", output.clone()),
        ];
        let expected = [answer("b", Action::Approve), answer("c", output)];
        assert_eq!(open_answers(answers, &calls), expected);
    }
}
