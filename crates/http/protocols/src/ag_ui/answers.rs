//! Answers to tool calls in the body of a run.

use application::turns::CallAnswer;
use domain::{Action, FaultCode, InputFault, ProblemCode};
use kit::{actions::output_text, problem::ApiError};
use serde_json::Value;

use super::input::{self, InputMessage, RunInput};
use crate::answers::{ClientCalls, denial};

/// The answers of a body.
#[derive(Debug)]
pub(super) struct InputAnswers {
    pub(super) calls: ClientCalls,
    /// True if interrupts are answered.
    pub(super) resumes: bool,
    /// True if no message of the user follows.
    pub(super) are_newest: bool,
    /// True if nothing follows.
    pub(super) are_last: bool,
}

impl RunInput {
    /// Returns the answers: the results of tools of the client after its newest calls, and the answers
    /// to interrupts.
    pub(super) fn answers(&self) -> Result<InputAnswers, ApiError> {
        let newest = |role: &str| self.messages.iter().rposition(|it| it.role == role);
        let mut calls = ClientCalls::default();
        let mut newest_calls = 0;
        for (index, message) in self.messages.iter().enumerate() {
            let ids = called(message);
            if !ids.is_empty() {
                newest_calls = index;
            }
            calls.calls.extend(ids);
            let result = message.tool_call_id.as_str();
            calls.ended.extend(result.map(str::to_owned));
        }
        for (index, message) in self.messages.iter().enumerate().skip(newest_calls) {
            if let Some(call_id) = message.tool_call_id.as_str() {
                let (call_id, action) = (call_id.to_owned(), result(index, message)?);
                calls.answers.push(CallAnswer { call_id, action });
            }
        }
        let entries = self.resume.as_array().into_iter().flatten().enumerate();
        let resumed: Vec<_> = entries
            .map(|(index, entry)| resumed_call(index, entry))
            .collect::<Result<_, _>>()?;
        let is_resumed = !resumed.is_empty();
        calls.answers.extend(resumed);
        Ok(InputAnswers {
            calls,
            resumes: is_resumed,
            are_newest: is_resumed || newest("tool") > newest("user"),
            are_last: self.messages.last().is_some_and(|it| it.role == "tool"),
        })
    }
}

/// Returns the ids of the calls of a message.
fn called(message: &InputMessage) -> Vec<String> {
    let calls = message.tool_calls.as_array().into_iter().flatten();
    let ids = calls.filter_map(|call| call["id"].as_str());
    ids.map(str::to_owned).collect()
}

/// Returns the answer in a message with the result of a tool.
fn result(index: usize, message: &InputMessage) -> Result<Action, ApiError> {
    let fault = |fault| ApiError::faults(ProblemCode::ValidationFailed, vec![fault]);
    let text = |member: &str, value: &Value| {
        let pointer = format!("/messages/{index}/{member}");
        output_text(&pointer, value.clone()).map_err(fault)
    };
    if message.error.is_null() {
        let content = match &message.content {
            Value::Array(_) => {
                let pointer = format!("/messages/{index}/content");
                input::text(&message.content, &pointer, |_| false)?.into()
            }
            content => content.clone(),
        };
        return Ok(Action::Output(text("content", &content)?));
    }
    Ok(Action::Error(text("error", &message.error)?))
}

/// Returns the answer to an interrupt.
fn resumed_call(index: usize, entry: &Value) -> Result<CallAnswer, ApiError> {
    let fault = |below: &str, detail: &str| {
        let pointer = format!("/resume/{index}{below}");
        let fault = InputFault::new(pointer, FaultCode::BadFormat, detail);
        ApiError::faults(ProblemCode::ValidationFailed, vec![fault])
    };
    let call_id = entry["interruptId"].as_str();
    let call_id = call_id.ok_or_else(|| fault("/interruptId", "must be a text"))?;
    let payload = &entry["payload"];
    if !payload["editedArgs"].is_null() {
        return Err(fault("/payload/editedArgs", "arguments cannot be edited"));
    }
    let action = match entry["status"].as_str() {
        Some("cancelled") => denial(&Value::Null),
        Some("resolved") => match payload["approved"].as_bool().or(payload.as_bool()) {
            Some(true) => Action::Approve,
            Some(false) => denial(&payload["reason"]),
            None => return Err(fault("/payload/approved", "must be true or false")),
        },
        _ => return Err(fault("/status", "must be 'resolved' or 'cancelled'")),
    };
    Ok(CallAnswer {
        call_id: call_id.to_owned(),
        action,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answers(messages: &Value, resume: &Value) -> Result<InputAnswers, ApiError> {
        let body = json!({"threadId": "t", "runId": "r", "messages": messages, "resume": resume});
        let input: RunInput = serde_json::from_value(body).unwrap();
        input.answers()
    }

    fn found(answers: &InputAnswers) -> Vec<(&str, Action)> {
        let answers = answers.calls.answers.iter();
        let found = answers.map(|answer| (&*answer.call_id, answer.action.clone()));
        found.collect()
    }

    #[test]
    fn results_after_the_newest_calls_are_answers() {
        let mut messages = json!([
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "toolCalls": [{"id": "t-1"}]},
            {"role": "tool", "toolCallId": "t-1", "content": "old"},
            {"role": "assistant", "toolCalls": [{"id": "t-2"}, {"id": "t-3"}]},
            {"role": "tool", "toolCallId": "t-2", "content": "new"},
            {"role": "tool", "toolCallId": "t-3", "content": "", "error": "no cart"},
        ]);
        let expected = [
            ("t-2", Action::Output("new".to_owned())),
            ("t-3", Action::Error("no cart".to_owned())),
        ];
        let read = answers(&messages, &Value::Null).unwrap();
        assert_eq!(found(&read), expected);
        assert_eq!((read.calls.calls.len(), read.calls.ended.len()), (3, 3));
        assert!(read.are_newest && read.are_last && !read.resumes);
        let list = messages.as_array_mut().unwrap();
        list.push(json!({"role": "user", "content": "And now?"}));
        let read = answers(&messages, &Value::Null).unwrap();
        assert_eq!(found(&read), expected);
        assert!(!read.are_newest && !read.are_last);
    }

    #[test]
    fn interrupts_are_approved_or_denied() {
        let denied = |reason: Option<&str>| Action::Deny {
            reason: reason.map(str::to_owned),
        };
        for (entry, expected) in [
            (
                json!({"status": "resolved", "payload": {"approved": true}}),
                Action::Approve,
            ),
            (
                json!({"status": "resolved", "payload": {"approved": false, "reason": "no"}}),
                denied(Some("no")),
            ),
            (json!({"status": "cancelled"}), denied(None)),
        ] {
            let mut entry = entry;
            entry["interruptId"] = json!("t-1");
            let read = answers(&json!([]), &json!([entry])).unwrap();
            assert!(read.resumes && read.are_newest);
            assert_eq!(found(&read), [("t-1", expected)]);
        }
    }

    #[test]
    fn other_answers_to_interrupts_are_refused() {
        for (entry, pointer) in [
            (json!({"status": "resolved"}), "/resume/0/interruptId"),
            (json!({"interruptId": "t-1"}), "/resume/0/status"),
            (
                json!({"interruptId": "t-1", "status": "resolved"}),
                "/resume/0/payload/approved",
            ),
            (
                json!({"interruptId": "t-1", "status": "resolved", "payload": {"approved": true, "editedArgs": {}}}),
                "/resume/0/payload/editedArgs",
            ),
        ] {
            let error = answers(&json!([]), &json!([entry])).unwrap_err();
            assert_eq!(error.faults[0].pointer.as_deref(), Some(pointer));
        }
    }
}
