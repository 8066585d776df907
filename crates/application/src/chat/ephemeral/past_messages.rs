//! The messages that the client of an unrecorded chat sends with it, in the form of engines.

use std::{mem, sync::Arc, time::Duration};

use domain::{
    HistoryLimits, HistoryMessage, ModelResponse, ModelStep, PastCalls, Repetition, Role, ToolCall,
    ToolEnd, ToolStep, Unanswered,
};
use serde::Serialize;

use crate::{
    engines::{PARAGRAPH, object_text},
    toolbox::function_names,
};

/// A message, as the client sends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PastMessage {
    /// The author.
    pub role: Role,
    /// The text.
    pub content: String,
    /// The calls of the client's tools after the text; of the agent's messages.
    pub calls: Vec<PastCall>,
}

/// A call of a tool of the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PastCall {
    /// The id.
    pub id: String,
    /// The name of the function.
    pub function: String,
    /// The arguments, as JSON text.
    pub arguments: String,
    /// The tool's result, if the client sends it.
    pub result: Option<String>,
}

impl PastMessage {
    /// Creates a message without calls.
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Self {
            role,
            content: content.into(),
            calls: Vec::new(),
        }
    }

    /// Returns the response of an engine that has called the tools, after a reply of this length.
    fn into_step(self, engine: &str, at: usize) -> Arc<ModelStep> {
        Arc::new(ModelStep {
            response: ModelResponse {
                engine: engine.to_owned(),
                text: self.content,
                ..ModelResponse::default()
            },
            calls: self.calls.into_iter().map(|it| it.into_step(at)).collect(),
        })
    }
}

impl PastCall {
    fn into_step(self, at: usize) -> ToolStep {
        let end = match self.result {
            Some(result) => ToolEnd::new(ToolCall::OK, result, Duration::ZERO),
            None => Unanswered::Dismissed.end(),
        };
        ToolStep {
            call_id: self.id,
            function: function_names(&[&self.function]).remove(0),
            name: self.function,
            arguments: object_text(Some(self.arguments)),
            at,
            visibility: None,
            repetition: Repetition::Acts,
            wait: None,
            timeout_ms: None,
            end: Some(end),
        }
    }
}

/// Returns the responses that have called tools for the message to reply to. `engine` is the one that is asked
/// first, as it was for them.
pub(super) fn steps(messages: Vec<PastMessage>, engine: &str) -> Vec<Arc<ModelStep>> {
    let messages = messages.into_iter();
    messages.map(|it| it.into_step(engine, 0)).collect()
}

/// Returns the newest messages that fit the limits. The agent's messages with calls, and the one after them,
/// are one reply.
pub(super) fn history(limits: &HistoryLimits, messages: Vec<PastMessage>) -> Vec<HistoryMessage> {
    let mut history = History {
        shows_calls: limits.has_tool_results(),
        ..History::default()
    };
    for message in messages {
        history.add(message);
    }
    let mut history = history.end();
    let newest_first = history.iter().rev().map(|it| &*it.content);
    history.drain(..history.len() - limits.fitting(newest_first));
    limits.in_steps(&history).unwrap_or(history)
}

#[derive(Default)]
struct History {
    shows_calls: bool,
    messages: Vec<HistoryMessage>,
    /// A reply of which only the calls and the texts before them were added.
    text: String,
    steps: Vec<Arc<ModelStep>>,
}

impl History {
    fn add(&mut self, message: PastMessage) {
        if message.role != Role::Agent {
            self.end_reply();
            self.push(message.role, message.content, None);
            return;
        }
        if !self.text.is_empty() && !message.content.is_empty() {
            self.text.push_str(PARAGRAPH);
        }
        self.text.push_str(&message.content);
        if message.calls.is_empty() {
            self.end_reply();
        } else {
            self.steps.push(message.into_step("", self.text.len()));
        }
    }

    /// Adds the reply, if there is one.
    fn end_reply(&mut self) {
        let (text, steps) = (mem::take(&mut self.text), mem::take(&mut self.steps));
        let steps = if self.shows_calls { steps } else { Vec::new() };
        if !text.is_empty() || !steps.is_empty() {
            let calls = PastCalls::of_reply(&steps, &text).after(&[]);
            self.push(Role::Agent, text, calls);
        }
    }

    fn push(&mut self, role: Role, content: String, calls: Option<PastCalls>) {
        let seq = i64::try_from(self.messages.len()).map_or(i64::MAX, |before| before + 1);
        self.messages.push(HistoryMessage {
            calls: calls.map(Arc::new),
            ..HistoryMessage::new(seq, role, content)
        });
    }

    fn end(mut self) -> Vec<HistoryMessage> {
        self.end_reply();
        self.messages
    }
}

#[cfg(test)]
mod tests;
