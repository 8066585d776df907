//! The body of a chat.

use std::collections::BTreeMap;

use domain::{ClientTool, FaultCode};
use kit::problem::ApiError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::client_reply::{ClientMessage, ClientPart, calls_of};
use crate::{
    answers::ClientCalls,
    client_tools::{MAX_TOOLS, client_tool, separate},
    file_parts::Address,
};

/// The body that a chat sends. Clients send all messages; only the newest one is used, and the answers
/// in the reply before it.
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
    /// The message that is edited or generated again, or the reply that is continued.
    #[serde(default)]
    pub(super) message_id: Option<String>,
    /// The tools of the client by their names, of clients that describe them.
    #[serde(default)]
    tools: Value,
}

/// The newest message.
#[derive(Debug)]
pub(super) enum Newest {
    /// The message of a user, after a reply with these tool calls.
    User(UserMessage, ClientCalls),
    /// A reply with answers to its tool calls.
    Reply(ClientCalls),
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
#[derive(Debug)]
pub(super) struct UserMessage {
    /// The client's own id.
    pub(super) id: Option<String>,
    pub(super) text: String,
    /// Its files, with their places below `place`.
    pub(super) files: Vec<(usize, Address)>,
    /// The place of its parts in the body.
    pub(super) place: String,
}

/// A tool of a client, without its name.
#[derive(Deserialize)]
struct Described {
    #[serde(default)]
    description: Value,
    #[serde(default)]
    parameters: Value,
}

impl ChatBody {
    /// Removes the messages that are not used.
    pub(super) fn keep_newest(&mut self) {
        let unused = self.messages.len().saturating_sub(2);
        self.messages.drain(..unused);
    }

    /// Returns the newest message.
    pub(super) fn take_newest(&mut self) -> Result<Newest, ApiError> {
        let (newest, place) = if let Some(newest) = self.message.take() {
            (Some(newest), "/message/parts".to_owned())
        } else {
            let newest = self.messages.pop();
            (newest, format!("/messages/{}/parts", self.messages.len()))
        };
        let newest = newest.ok_or_else(|| fault(FaultCode::Required, "required"))?;
        let newest: ClientMessage = serde_json::from_value(newest)
            .map_err(|error| fault(FaultCode::BadFormat, &error.to_string()))?;
        match &*newest.role {
            "user" => {
                let message = user_message(newest, place);
                Ok(Newest::User(message, self.calls_before()?))
            }
            "assistant" => {
                let calls = calls_of(newest.parts)?;
                if calls.answers.is_empty() {
                    let detail = "the last message must be the user's, or answer tool calls";
                    return Err(fault(FaultCode::NotCombinable, detail));
                }
                Ok(Newest::Reply(calls))
            }
            _ => {
                let detail = "the last message must be the user's or the assistant's";
                Err(fault(FaultCode::NotCombinable, detail))
            }
        }
    }

    /// Returns the calls of the reply before the newest message. What cannot be read is not used.
    fn calls_before(&mut self) -> Result<ClientCalls, ApiError> {
        let before = self.messages.pop().map(serde_json::from_value);
        match before {
            Some(Ok(ClientMessage { role, parts, .. })) if role == "assistant" => calls_of(parts),
            _ => Ok(ClientCalls::default()),
        }
    }

    /// Returns the tools of the client that can be added to a turn.
    pub(super) fn take_tools(&mut self) -> Vec<ClientTool> {
        let tools = serde_json::from_value(self.tools.take());
        let tools: BTreeMap<String, Described> = tools.unwrap_or_default();
        let described = tools.into_iter().filter_map(|(name, tool)| {
            client_tool(&Value::String(name), &tool.description, &tool.parameters)
        });
        separate(described.collect(), MAX_TOOLS).0
    }
}

fn user_message(newest: ClientMessage, place: String) -> UserMessage {
    let (mut texts, mut files) = (Vec::new(), Vec::new());
    for (index, part) in newest.parts.into_iter().enumerate() {
        match &*part.kind {
            "text" => texts.extend(part.text),
            "file" => files.push((index, address(part))),
            _ => {}
        }
    }
    UserMessage {
        id: newest.id.filter(|id| !id.is_empty()),
        text: texts.join("\n"),
        files,
        place,
    }
}

fn address(part: ClientPart) -> Address {
    let text = |value| match value {
        Value::String(text) => Some(text),
        _ => None,
    };
    Address {
        url: text(part.url).unwrap_or_default(),
        media_type: text(part.media_type),
        name: text(part.filename),
    }
}

fn fault(code: FaultCode, detail: &str) -> ApiError {
    ApiError::invalid("/messages", code, detail)
}

#[cfg(test)]
mod tests {
    use domain::{Action, ProblemCode};
    use serde_json::json;

    use super::*;

    fn user_message(body: Value) -> Result<UserMessage, ApiError> {
        let mut body: ChatBody = serde_json::from_value(body).unwrap();
        match body.take_newest()? {
            Newest::User(message, _) => Ok(message),
            Newest::Reply(calls) => panic!("{calls:?}"),
        }
    }

    fn message(id: &str, text: &str) -> Value {
        json!({"id": id, "role": "user", "metadata": {}, "parts": [
            {"type": "text", "text": text}, {"type": "data-x", "data": 1},
        ]})
    }

    #[test]
    fn the_last_message_is_used_whatever_the_others_are() {
        let messages = json!([{"role": 7}, message("m2", "Hello")]);
        let used = user_message(json!({"id": "c", "messages": messages, "tools": {}})).unwrap();
        assert_eq!((used.id.as_deref(), &*used.text), (Some("m2"), "Hello"));
        let used = user_message(json!({"id": "c", "message": message("m1", "Hi")})).unwrap();
        assert_eq!((used.id.as_deref(), &*used.text), (Some("m1"), "Hi"));
    }

    #[test]
    fn files_are_read_with_their_places() {
        let parts = json!([
            {"type": "file", "mediaType": "image/png", "filename": "a.png", "url": "data:x"},
            {"type": "text", "text": "Look"}, {"type": "file", "url": 7},
        ]);
        let newest = json!({"id": "m", "role": "user", "parts": parts});
        let used = user_message(json!({"id": "c", "messages": [{}, newest]})).unwrap();
        assert_eq!((&*used.text, &*used.place), ("Look", "/messages/1/parts"));
        let files = used
            .files
            .iter()
            .map(|(index, file)| (*index, &*file.url, file.name.as_deref()));
        let expected = [(0, "data:x", Some("a.png")), (2, "", None)];
        assert_eq!(files.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn messages_that_cannot_be_answered_are_rejected() {
        let reply = json!({"id": "m", "role": "assistant", "parts": []});
        for messages in [json!([]), json!([reply])] {
            let rejected = user_message(json!({"id": "c", "messages": messages}));
            assert_eq!(rejected.unwrap_err().code, ProblemCode::ValidationFailed);
        }
    }

    #[test]
    fn answers_are_read_from_the_newest_reply_also_before_a_message() {
        let part = |id: &str, more: Value| {
            let mut part = json!({"type": "tool-open_cart", "toolCallId": id, "input": {}});
            let all = part.as_object_mut().unwrap();
            all.extend(more.as_object().unwrap().clone());
            part
        };
        let reply = json!({"id": "r", "role": "assistant", "parts": [
            {"type": "text", "text": "Let me see."},
            part("t-1", json!({"state": "output-available", "output": {"items": 2}})),
            part("t-2", json!({"state": "output-error", "errorText": "no cart"})),
            part("t-3", json!({"state": "approval-responded", "approval": {"id": "t-3", "approved": true}})),
            part("t-4", json!({"state": "approval-responded", "approval": {
                "id": "t-4", "approved": false, "reason": "too much",
            }})),
            part("t-5", json!({"state": "input-available"})),
        ]});
        let answers = [
            ("t-1", Action::Output(r#"{"items":2}"#.to_owned())),
            ("t-2", Action::Error("no cart".to_owned())),
            ("t-3", Action::Approve),
            (
                "t-4",
                Action::Deny {
                    reason: Some("too much".to_owned()),
                },
            ),
        ];
        for (messages, is_reply) in [
            (json!([reply]), true),
            (json!([reply, message("m2", "Hello")]), false),
        ] {
            let body = json!({"id": "c", "messages": messages});
            let mut body: ChatBody = serde_json::from_value(body).unwrap();
            body.keep_newest();
            let calls = match body.take_newest().unwrap() {
                Newest::Reply(calls) if is_reply => calls,
                Newest::User(_, calls) if !is_reply => calls,
                other => panic!("{other:?}"),
            };
            assert_eq!(calls.calls.len(), 5);
            assert_eq!(calls.ended, ["t-1", "t-2"].map(str::to_owned).into());
            let found = calls
                .answers
                .iter()
                .map(|it| (&*it.call_id, it.action.clone()));
            assert_eq!(found.collect::<Vec<_>>(), answers);
        }
    }

    #[test]
    fn tools_that_a_client_describes_are_read() {
        let tools = json!({"open_cart": {"description": "Opens.", "parameters": {}}, "a b": {}});
        let body = json!({"id": "c", "messages": [], "tools": tools});
        let mut body: ChatBody = serde_json::from_value(body).unwrap();
        let tools = body.take_tools();
        assert_eq!(tools.len(), 1);
        assert_eq!(
            (&*tools[0].name, &*tools[0].description),
            ("open_cart", "Opens.")
        );
        for tools in [json!(null), json!([]), json!(7), json!({"a": 7})] {
            let body = json!({"id": "c", "messages": [], "tools": tools});
            let mut body: ChatBody = serde_json::from_value(body).unwrap();
            assert_eq!(body.take_tools(), []);
        }
    }
}
