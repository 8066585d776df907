//! The messages of a request.

use std::collections::{HashMap, HashSet};

use application::{
    chat::{PastCall, PastMessage},
    turns::CallAnswer,
};
use domain::{Action, FaultCode, InputFault, Role, Sizes, fault::push_index};
use kit::actions::output_text;
use serde::Deserialize;
use serde_json::Value;

use super::files::{add_file, is_file};
use crate::{
    answers::ClientCalls,
    file_parts::{FileParts, OwnFile},
};

/// A message, as a client sends it. Its members have any type, because only the newest message is
/// judged.
#[derive(Debug, Deserialize)]
pub(super) struct ClientMessage {
    #[serde(default)]
    role: Value,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    tool_calls: Value,
    #[serde(default)]
    tool_call_id: Value,
}

/// The author of a client's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Author {
    /// The user.
    User,
    /// The operator of the client, in the name of `system` or `developer`.
    Operator,
    /// The agent.
    Agent,
}

/// The texts of a conversation.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Texts {
    /// The message to reply to.
    pub(super) message: String,
    /// Its position, if there is one.
    pub(super) position: Option<usize>,
    /// The messages before it, oldest first.
    pub(super) history: Vec<PastMessage>,
    /// The agent's messages after it, with calls of tools of the client.
    pub(super) steps: Vec<PastMessage>,
}

impl Texts {
    /// Reads a whole conversation. The newest user message is the one to reply to; calls of the client's
    /// tools and their results may follow. Messages and parts of the past that cannot be used are omitted: a
    /// client would send them again with each message.
    pub(super) fn whole(messages: &[ClientMessage], reader: &mut Reader<'_>) -> Self {
        let Some(newest) = reader.newest(messages) else {
            return Self::default();
        };
        let mut texts = Self::default();
        let mut asked = HashSet::new();
        for (index, message) in messages.iter().enumerate() {
            if index == newest {
                texts.message = reader.message(index, message);
                texts.position = Some(index);
                continue;
            }
            let role = match message.author() {
                // An agent has instructions of its own.
                Some(Author::User | Author::Operator) => Role::User,
                Some(Author::Agent) => Role::Agent,
                None => {
                    if index > newest {
                        reader.check_result(index, message, &asked);
                    }
                    continue;
                }
            };
            let mut past = PastMessage::new(role, message.usable_text());
            if role == Role::Agent {
                past.calls = message.calls(&messages[index + 1..]);
            }
            if role == Role::Agent && index > newest {
                asked = message.named_calls().map(|(id, ..)| id).collect();
                texts.steps.push(past);
            } else if !past.content.is_empty() || !past.calls.is_empty() {
                texts.history.push(past);
            }
        }
        texts
    }

    /// Reads only the newest user message.
    pub(super) fn newest(messages: &[ClientMessage], reader: &mut Reader<'_>) -> Self {
        let newest = reader.newest(messages);
        Self {
            message: newest.map_or_else(String::new, |at| reader.message(at, &messages[at])),
            position: newest,
            ..Self::default()
        }
    }
}

impl ClientMessage {
    fn role(&self) -> &str {
        self.role.as_str().unwrap_or_default()
    }

    fn author(&self) -> Option<Author> {
        match self.role() {
            "user" => Some(Author::User),
            "system" | "developer" => Some(Author::Operator),
            "assistant" => Some(Author::Agent),
            _ => None,
        }
    }

    /// Returns the calls of tools, with the results in the messages that follow.
    fn calls(&self, following: &[Self]) -> Vec<PastCall> {
        let results = following.iter().take_while(|it| it.role() == "tool");
        let results = results.filter_map(|it| Some((it.tool_call_id.as_str()?, it)));
        let results: HashMap<_, _> = results.collect();
        let calls = self.named_calls().map(|(id, name, arguments)| PastCall {
            id: id.to_owned(),
            function: name.to_owned(),
            arguments: arguments.as_str().unwrap_or_default().to_owned(),
            result: results.get(id).map(|it| it.usable_text()),
        });
        calls.collect()
    }

    /// Returns the ids, the functions and the arguments of calls.
    fn named_calls(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        let calls = self.tool_calls.as_array().into_iter().flatten();
        calls.filter_map(|call| {
            let function = &call["function"];
            let names = (call["id"].as_str()?, function["name"].as_str()?);
            Some((names.0, names.1, &function["arguments"]))
        })
    }

    /// Takes the files out of the message at `position`.
    pub(super) fn take_files(
        &mut self,
        position: usize,
        own_file: OwnFile<'_>,
        faults: &mut Vec<InputFault>,
    ) -> FileParts {
        let mut files = FileParts::default();
        let parts = self.content.as_array_mut().into_iter().flatten();
        for (index, part) in parts.enumerate().filter(|(_, part)| is_file(part)) {
            let place = format!("/messages/{position}/content/{index}");
            let added = add_file(&mut files, &place, part, own_file);
            faults.extend(added.err());
        }
        files
    }

    /// Returns the text, without parts of other types.
    fn usable_text(&self) -> String {
        match &self.content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                let texts: Vec<_> = parts.iter().filter_map(part_text).collect();
                texts.join("\n")
            }
            _ => String::new(),
        }
    }
}

/// Returns whether messages end with the result of a tool.
pub(super) fn ends_with_result(messages: &[ClientMessage]) -> bool {
    messages.last().is_some_and(|it| it.role() == "tool")
}

/// Returns the text of a part, if it is one.
fn part_text(part: &Value) -> Option<&str> {
    part["text"].as_str().filter(|_| part["type"] == "text")
}

/// Reads messages and collects their faults.
pub(super) struct Reader<'a> {
    /// The maximum number of characters of a message.
    max: usize,
    faults: &'a mut Vec<InputFault>,
}

impl<'a> Reader<'a> {
    /// Creates a reader that adds to `faults`.
    pub(super) fn new(sizes: &Sizes, faults: &'a mut Vec<InputFault>) -> Self {
        Self {
            max: sizes.message_characters as usize,
            faults,
        }
    }

    /// Reads the tool calls, and the results after the newest ones.
    pub(super) fn calls(&mut self, messages: &[ClientMessage]) -> ClientCalls {
        let mut read = ClientCalls::default();
        for (index, message) in messages.iter().enumerate() {
            let calls = message.tool_calls.as_array().into_iter().flatten();
            let ids: Vec<_> = calls.filter_map(|call| call["id"].as_str()).collect();
            if !ids.is_empty() {
                read.answers.clear();
            }
            read.calls.extend(ids.into_iter().map(str::to_owned));
            let result = message.tool_call_id.as_str();
            if let Some(call_id) = result.filter(|_| message.role() == "tool") {
                read.ended.insert(call_id.to_owned());
                read.answers.extend(self.result(index, call_id, message));
            }
        }
        read
    }

    /// Reads the result of a tool.
    fn result(
        &mut self,
        index: usize,
        call_id: &str,
        message: &ClientMessage,
    ) -> Option<CallAnswer> {
        let pointer = format!("/messages/{index}/content");
        match output_text(&pointer, message.usable_text().into()) {
            Ok(text) => Some(CallAnswer {
                call_id: call_id.to_owned(),
                action: Action::Output(text),
            }),
            Err(fault) => {
                self.faults.push(fault);
                None
            }
        }
    }

    /// Returns the position of the message to reply to: the newest of the user or, without one, of
    /// the operator.
    fn newest(&mut self, messages: &[ClientMessage]) -> Option<usize> {
        let newest = |author| {
            let is_of = |it: &ClientMessage| it.author() == Some(author);
            messages.iter().rposition(is_of)
        };
        let found = newest(Author::User).or_else(|| newest(Author::Operator));
        // Calls of tools may follow, with their results.
        let is_open =
            |it: &ClientMessage| ends_with_result(messages) && it.named_calls().next().is_some();
        let is_reply = |it: &ClientMessage| it.author() == Some(Author::Agent) && !is_open(it);
        match (found, messages.iter().rposition(is_reply)) {
            (Some(found), agent) if agent.is_none_or(|agent| agent < found) => Some(found),
            (None, _) => {
                self.fault(
                    None,
                    "",
                    FaultCode::Required,
                    "need a message with the role 'user'",
                );
                None
            }
            (Some(_), _) => {
                let detail = "must end with a message of the user: replies cannot be continued";
                self.fault(None, "", FaultCode::NotCombinable, detail);
                None
            }
        }
    }

    /// Checks that a message after the one to reply to is the result of a call before it.
    fn check_result(&mut self, index: usize, message: &ClientMessage, asked: &HashSet<&str>) {
        if message.role() != "tool" {
            let detail = "must be 'user', 'assistant', 'system', 'developer' or 'tool'";
            self.fault(Some(index), "/role", FaultCode::UnknownValue, detail);
            return;
        }
        let id = message.tool_call_id.as_str();
        if let Some(id) = id.filter(|id| asked.contains(id)) {
            self.result(index, id, message);
        } else {
            let detail = "must be the id of a call in the message before the results";
            self.fault(
                Some(index),
                "/tool_call_id",
                FaultCode::UnknownValue,
                detail,
            );
        }
    }

    /// Reads the message to reply to.
    fn message(&mut self, index: usize, message: &ClientMessage) -> String {
        let before = self.faults.len();
        let text = self.text(index, message);
        let parts = message.content.as_array();
        let has_files = parts.is_some_and(|parts| parts.iter().any(is_file));
        if text.is_empty() && !has_files && self.faults.len() == before {
            let detail = "at least 1 character";
            self.fault(Some(index), "/content", FaultCode::TooShort, detail);
        }
        text
    }

    fn text(&mut self, index: usize, message: &ClientMessage) -> String {
        let calls = message.tool_calls.as_array();
        if calls.is_some_and(|calls| !calls.is_empty()) {
            let detail = "calls of the client's tools are not accepted";
            self.fault(Some(index), "/tool_calls", FaultCode::NotCombinable, detail);
        }
        match &message.content {
            Value::Array(parts) => {
                for (position, _) in unusable_parts(parts) {
                    let below = format!("/content/{position}");
                    let detail = "must be of the type 'text', 'image_url', 'input_audio' or 'file'";
                    self.fault(Some(index), &below, FaultCode::UnknownValue, detail);
                }
            }
            Value::String(_) | Value::Null => {}
            _ => {
                let detail = "must be a text or a list of parts";
                self.fault(Some(index), "/content", FaultCode::WrongType, detail);
            }
        }
        let text = message.usable_text();
        if text.chars().count() > self.max {
            let detail = format!("at most {} characters", self.max);
            self.fault(Some(index), "/content", FaultCode::TooLong, &detail);
        }
        text
    }

    fn fault(&mut self, index: Option<usize>, below: &str, code: FaultCode, detail: &str) {
        let mut pointer = "/messages".to_owned();
        if let Some(index) = index {
            push_index(&mut pointer, index);
        }
        pointer.push_str(below);
        self.faults.push(InputFault::new(pointer, code, detail));
    }
}

fn unusable_parts(parts: &[Value]) -> impl Iterator<Item = (usize, &Value)> {
    let parts = parts.iter().enumerate();
    parts.filter(|(_, part)| part_text(part).is_none() && !is_file(part))
}

#[cfg(test)]
mod tests;
