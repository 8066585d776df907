//! The messages of a request.

use domain::{FaultCode, InputFault, Role, Sizes, fault::push_index};
use serde::Deserialize;
use serde_json::Value;

/// A message, as a client sends it.
#[derive(Debug, Deserialize)]
pub(super) struct ClientMessage {
    role: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    tool_calls: Option<Vec<Value>>,
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
    /// The messages before it, oldest first.
    pub(super) history: Vec<(Role, String)>,
}

impl Texts {
    /// Reads a whole conversation. The newest user message is the one to reply to.
    pub(super) fn whole(messages: &[ClientMessage], reader: &mut Reader<'_>) -> Self {
        let Some(newest) = reader.newest(messages) else {
            return Self::default();
        };
        let mut texts = Self::default();
        for (index, message) in messages.iter().enumerate() {
            if index == newest {
                texts.message = reader.message(index, message);
                continue;
            }
            let Some(author) = reader.author(index, message) else {
                continue;
            };
            let role = match author {
                // An agent has instructions of its own.
                Author::User | Author::Operator => Role::User,
                Author::Agent => Role::Agent,
            };
            let text = reader.text(index, message);
            if !text.is_empty() {
                texts.history.push((role, text));
            }
        }
        texts
    }

    /// Reads only the newest user message.
    pub(super) fn newest(messages: &[ClientMessage], reader: &mut Reader<'_>) -> Self {
        let newest = reader.newest(messages);
        Self {
            message: newest.map_or_else(String::new, |at| reader.message(at, &messages[at])),
            history: Vec::new(),
        }
    }
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

    /// Returns the position of the message to reply to: the newest of the user or, without one, of
    /// the operator.
    fn newest(&mut self, messages: &[ClientMessage]) -> Option<usize> {
        let newest = |author| {
            let is_of = |it: &ClientMessage| author_of(&it.role) == Some(author);
            messages.iter().rposition(is_of)
        };
        let found = newest(Author::User).or_else(|| newest(Author::Operator));
        match (found, newest(Author::Agent)) {
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

    fn author(&mut self, index: usize, message: &ClientMessage) -> Option<Author> {
        let detail = match &*message.role {
            "tool" | "function" => {
                "results of the client's tools are not accepted: agents call their own tools"
            }
            _ => "must be 'user', 'assistant', 'system' or 'developer'",
        };
        let author = author_of(&message.role);
        if author.is_none() {
            self.fault(Some(index), "/role", FaultCode::UnknownValue, detail);
        }
        author
    }

    /// Reads the message to reply to.
    fn message(&mut self, index: usize, message: &ClientMessage) -> String {
        let before = self.faults.len();
        let text = self.text(index, message);
        if text.is_empty() && self.faults.len() == before {
            let detail = "at least 1 character";
            self.fault(Some(index), "/content", FaultCode::TooShort, detail);
        }
        text
    }

    fn text(&mut self, index: usize, message: &ClientMessage) -> String {
        if message.tool_calls.as_ref().is_some_and(|it| !it.is_empty()) {
            let detail = "calls of the client's tools are not accepted";
            self.fault(Some(index), "/tool_calls", FaultCode::NotCombinable, detail);
        }
        let text = match &message.content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => self.joined(index, parts),
            Value::Null => String::new(),
            _ => {
                let detail = "must be a text or a list of parts";
                self.fault(Some(index), "/content", FaultCode::WrongType, detail);
                String::new()
            }
        };
        if text.chars().count() > self.max {
            let detail = format!("at most {} characters", self.max);
            self.fault(Some(index), "/content", FaultCode::TooLong, &detail);
        }
        text
    }

    /// Joins the parts of a message.
    fn joined(&mut self, index: usize, parts: &[Value]) -> String {
        let mut texts = Vec::with_capacity(parts.len());
        for (position, part) in parts.iter().enumerate() {
            let text = part["text"].as_str();
            if let Some(text) = text.filter(|_| part["type"] == "text") {
                texts.push(text);
            } else {
                let below = format!("/content/{position}");
                let detail = "only parts of the type 'text' are supported";
                self.fault(Some(index), &below, FaultCode::UnknownValue, detail);
            }
        }
        texts.join("\n")
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

fn author_of(role: &str) -> Option<Author> {
    match role {
        "user" => Some(Author::User),
        "system" | "developer" => Some(Author::Operator),
        "assistant" => Some(Author::Agent),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
