//! Replies as clients send them back, with their answers to tool calls.

use domain::{Action, InputFault, ProblemCode};
use kit::{actions::output_text, problem::ApiError};
use serde::Deserialize;
use serde_json::Value;

use crate::answers::{ClientCalls, denial};
use application::turns::CallAnswer;

/// A message of a client.
#[derive(Deserialize)]
pub(super) struct ClientMessage {
    #[serde(default)]
    pub(super) id: Option<String>,
    pub(super) role: String,
    #[serde(default)]
    pub(super) parts: Vec<ClientPart>,
}

/// A part of a message: a text, a file, or a tool call with what the client knows of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClientPart {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) text: Option<String>,
    /// Of a file: its address, its media type and its name.
    #[serde(default)]
    pub(super) url: Value,
    #[serde(default)]
    pub(super) media_type: Value,
    #[serde(default)]
    pub(super) filename: Value,
    #[serde(default)]
    tool_call_id: Option<String>,
    #[serde(default)]
    state: Value,
    #[serde(default)]
    output: Value,
    #[serde(default)]
    error_text: Value,
    #[serde(default)]
    approval: Value,
}

/// Returns the tool calls of a reply, with the answers of the client.
pub(super) fn calls_of(parts: Vec<ClientPart>) -> Result<ClientCalls, ApiError> {
    let mut calls = ClientCalls::default();
    for part in parts {
        let Some(call_id) = part.tool_call_id.clone() else {
            continue;
        };
        calls.calls.insert(call_id.clone());
        let state = part.state.as_str().unwrap_or_default();
        if state.starts_with("output-") {
            calls.ended.insert(call_id.clone());
        }
        let action = part
            .action()
            .map_err(|fault| ApiError::faults(ProblemCode::ValidationFailed, vec![fault]))?;
        let answer = action.map(|action| CallAnswer { call_id, action });
        calls.answers.extend(answer);
    }
    Ok(calls)
}

impl ClientPart {
    /// Returns the answer of the client.
    fn action(self) -> Result<Option<Action>, InputFault> {
        Ok(match self.state.as_str().unwrap_or_default() {
            "output-available" => Some(Action::Output(output_text("/messages", self.output)?)),
            "output-error" => Some(Action::Error(output_text("/messages", self.error_text)?)),
            "approval-responded" => match self.approval["approved"].as_bool() {
                Some(true) => Some(Action::Approve),
                Some(false) => Some(denial(&self.approval["reason"])),
                None => None,
            },
            _ => None,
        })
    }
}
