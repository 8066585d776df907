//! The body of a chat.

use domain::FaultCode;
use kit::problem::ApiError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The body that a chat sends. Clients send all messages; only the newest one is used.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChatBody {
    /// The chat.
    pub(super) id: String,
    #[serde(default)]
    messages: Vec<Value>,
    /// The newest message, of clients that send only that.
    #[serde(default)]
    message: Option<Value>,
    #[serde(default)]
    pub(super) trigger: Trigger,
    /// The message that is edited or generated again.
    #[serde(default)]
    pub(super) message_id: Option<String>,
}

/// The action of the user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Trigger {
    /// The user has sent or edited a message.
    #[default]
    SubmitMessage,
    /// The user wants another reply.
    RegenerateMessage,
}

/// A user's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UserMessage {
    /// The client's own id.
    pub(super) id: Option<String>,
    pub(super) text: String,
}

#[derive(Deserialize)]
struct ClientMessage {
    #[serde(default)]
    id: Option<String>,
    role: String,
    #[serde(default)]
    parts: Vec<ClientPart>,
}

#[derive(Deserialize)]
struct ClientPart {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
}

impl ChatBody {
    /// Removes the messages that are not used.
    pub(super) fn keep_newest(&mut self) {
        let unused = self.messages.len().saturating_sub(1);
        self.messages.drain(..unused);
    }

    /// Returns the newest message.
    pub(super) fn take_user_message(&mut self) -> Result<UserMessage, ApiError> {
        let newest = self.message.take().or_else(|| self.messages.pop());
        let newest = newest.ok_or_else(|| fault(FaultCode::Required, "required"))?;
        let newest: ClientMessage = serde_json::from_value(newest)
            .map_err(|error| fault(FaultCode::BadFormat, &error.to_string()))?;
        if newest.role != "user" {
            let detail = "the last message must be the user's: results of tools of the client and \
                          approvals are not supported";
            return Err(fault(FaultCode::NotCombinable, detail));
        }
        if newest.parts.iter().any(|part| part.kind == "file") {
            let detail = "files are not supported";
            return Err(fault(FaultCode::NotCombinable, detail));
        }
        let is_text = |part: &ClientPart| part.kind == "text";
        let texts = newest.parts.into_iter().filter(is_text);
        let texts: Vec<_> = texts.filter_map(|part| part.text).collect();
        Ok(UserMessage {
            id: newest.id.filter(|id| !id.is_empty()),
            text: texts.join("\n"),
        })
    }
}

fn fault(code: FaultCode, detail: &str) -> ApiError {
    ApiError::invalid("/messages", code, detail)
}

#[cfg(test)]
mod tests {
    use domain::ProblemCode;
    use serde_json::json;

    use super::*;

    fn user_message(body: Value) -> Result<UserMessage, ApiError> {
        let mut body: ChatBody = serde_json::from_value(body).unwrap();
        body.take_user_message()
    }

    fn message(id: &str, text: &str) -> Value {
        json!({"id": id, "role": "user", "metadata": {}, "parts": [
            {"type": "text", "text": text}, {"type": "data-x", "data": 1},
        ]})
    }

    #[test]
    fn the_last_message_is_used_whatever_the_others_are() {
        let messages = json!([{"role": 7}, message("m2", "Hello")]);
        let used = user_message(json!({"id": "c", "messages": messages, "tools": []})).unwrap();
        assert_eq!((used.id.as_deref(), &*used.text), (Some("m2"), "Hello"));
        let used = user_message(json!({"id": "c", "message": message("m1", "Hi")})).unwrap();
        assert_eq!((used.id.as_deref(), &*used.text), (Some("m1"), "Hi"));
    }

    #[test]
    fn messages_that_cannot_be_answered_are_rejected() {
        let file = json!({"id": "m", "role": "user", "parts": [{"type": "file", "url": "data:,"}]});
        let reply = json!({"id": "m", "role": "assistant", "parts": []});
        for messages in [json!([]), json!([file]), json!([reply])] {
            let rejected = user_message(json!({"id": "c", "messages": messages}));
            assert_eq!(rejected.unwrap_err().code, ProblemCode::ValidationFailed);
        }
    }
}
