//! The body of a run.

use domain::{ClientTool, ConversationKey, FaultCode, InputFault, ProblemCode, ResponseSchema};
use kit::{problem::ApiError, request::conversation_key};
use serde::Deserialize;
use serde_json::Value;

use super::files::{is_file, take_files};
use crate::{
    client_tools::{MAX_TOOLS, client_tool, separate},
    file_parts::{FileParts, OwnFile},
    response_schema::response_schema,
};

/// The maximum length of a client's own id of a message.
const MAX_MESSAGE_ID_BYTES: usize = 128;
/// The maximum number of bytes of a run's id.
const MAX_RUN_ID_BYTES: usize = 256;

/// The body of a run. `state`, `context` and other members of `forwardedProps` are ignored.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunInput {
    pub(super) thread_id: String,
    pub(super) run_id: String,
    /// The version that the client speaks; absent before 1.0.
    #[serde(default)]
    pub(super) protocol_version: Option<String>,
    pub(super) messages: Vec<InputMessage>,
    /// The answers to interrupts.
    #[serde(default)]
    pub(super) resume: Value,
    /// The tools of the client.
    #[serde(default)]
    tools: Value,
    /// Its `responseSchema` is the schema of the reply.
    #[serde(default)]
    forwarded_props: Value,
}

/// The place of the schema of a reply.
pub(super) const SCHEMA: &str = "/forwardedProps/responseSchema";

/// Its members have any type, because only the newest message of the user and answers are judged.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InputMessage {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    pub(super) role: Value,
    #[serde(default)]
    pub(super) content: Value,
    #[serde(default)]
    pub(super) tool_calls: Value,
    #[serde(default)]
    pub(super) tool_call_id: Value,
    /// Why a tool of the client has failed.
    #[serde(default)]
    pub(super) error: Value,
}

/// The newest message of the user.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UserMessage {
    /// The client's own id, if it can be stored.
    pub(super) id: Option<String>,
    pub(super) text: String,
}

impl RunInput {
    /// Returns the name of the conversation.
    pub(super) fn key(&self) -> Result<ConversationKey, ApiError> {
        conversation_key("/threadId", &self.thread_id)
    }

    /// Checks the id of the run.
    pub(super) fn check_run_id(&self) -> Result<(), ApiError> {
        if (1..=MAX_RUN_ID_BYTES).contains(&self.run_id.len()) {
            return Ok(());
        }
        let detail = format!("must be 1 to {MAX_RUN_ID_BYTES} bytes");
        Err(ApiError::invalid("/runId", FaultCode::BadFormat, detail))
    }

    /// Returns the tools of the client that can be added to a turn, and the names of the others.
    pub(super) fn tools(&self) -> (Vec<ClientTool>, Vec<String>) {
        let described = self.tools.as_array().into_iter().flatten();
        let tools = described.filter_map(|tool| {
            client_tool(&tool["name"], &tool["description"], &tool["parameters"])
        });
        let (usable, others) = separate(tools.collect(), MAX_TOOLS);
        (usable, others.into_iter().map(|tool| tool.name).collect())
    }

    /// Takes the files out of the newest message of the user.
    pub(super) fn take_files(&mut self, own_file: OwnFile<'_>) -> Result<FileParts, InputFault> {
        let newest = self.messages.iter().rposition(|it| it.role == "user");
        let Some(index) = newest else {
            return Ok(FileParts::default());
        };
        let pointer = format!("/messages/{index}/content");
        take_files(&mut self.messages[index].content, &pointer, own_file)
    }

    /// Returns the schema of the reply.
    pub(super) fn response_schema(&self) -> Result<Option<ResponseSchema>, ApiError> {
        let schema = response_schema(&self.forwarded_props["responseSchema"], SCHEMA);
        schema.map_err(|fault| ApiError::faults(ProblemCode::ValidationFailed, vec![fault]))
    }

    /// Returns the newest message of the user, of at most `max` characters.
    pub(super) fn newest_message(&self, max: u32) -> Result<UserMessage, ApiError> {
        let newest = self.messages.iter().rposition(|it| it.role == "user");
        let Some(index) = newest else {
            let detail = "must contain a message of the user";
            return Err(ApiError::invalid("/messages", FaultCode::Required, detail));
        };
        let message = &self.messages[index];
        let pointer = format!("/messages/{index}/content");
        let parts = message.content.as_array();
        let has_files = parts.is_some_and(|parts| parts.iter().any(is_file));
        let text = text(&message.content, &pointer, is_file)?;
        let problem = match text.chars().count() {
            0 if !has_files => Some((FaultCode::TooShort, "at least 1 character".to_owned())),
            count if count > max as usize => {
                Some((FaultCode::TooLong, format!("at most {max} characters")))
            }
            _ => None,
        };
        if let Some((code, detail)) = problem {
            return Err(ApiError::invalid(pointer, code, detail));
        }
        let is_storable = |id: &&str| {
            (1..=MAX_MESSAGE_ID_BYTES).contains(&id.len())
                && id.bytes().all(|byte| byte.is_ascii_graphic())
        };
        Ok(UserMessage {
            id: message.id.as_str().filter(is_storable).map(str::to_owned),
            text,
        })
    }
}

/// Returns the text of a message, which is a string or a list of parts, without those of another kind.
pub(super) fn text(
    content: &Value,
    pointer: &str,
    is_other: impl Fn(&Value) -> bool,
) -> Result<String, ApiError> {
    match content {
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => {
            let parts = parts.iter().enumerate();
            let texts = parts.filter(|(_, part)| !is_other(part));
            let texts = texts.map(|(index, part)| {
                let is_text = part["type"] == "text";
                let text = part["text"].as_str().filter(|_| is_text);
                text.ok_or_else(|| {
                    let detail = "must be a text or, in messages of the user, a file";
                    ApiError::invalid(
                        format!("{pointer}/{index}"),
                        FaultCode::UnknownValue,
                        detail,
                    )
                })
            });
            texts.collect()
        }
        _ => {
            let detail = "must be a string or a list of parts";
            Err(ApiError::invalid(pointer, FaultCode::WrongType, detail))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn newest(messages: &Value) -> Result<UserMessage, ApiError> {
        let body = json!({"threadId": "t", "runId": "r", "messages": messages, "x": 1});
        let input: RunInput = serde_json::from_value(body).unwrap();
        input.newest_message(10)
    }

    #[test]
    fn the_newest_message_of_the_user_is_used() {
        let message = newest(&json!([
            {"id": 1, "role": 1},
            {"id": "1", "role": "user", "content": [{"type": "image"}]},
            {"id": "2", "role": "user", "content": [
                {"type": "text", "text": "ne"}, {"type": "text", "text": "w"},
            ]},
            {"id": "3", "role": "assistant", "toolCalls": []},
            {"id": "4", "role": "activity", "content": {}},
        ]));
        let expected = UserMessage {
            id: Some("2".to_owned()),
            text: "new".to_owned(),
        };
        assert_eq!(message.unwrap(), expected);
    }

    #[test]
    fn files_of_the_newest_message_are_taken() {
        let image = json!({"type": "image", "source": {
            "type": "data", "value": "AAAA", "mimeType": "image/png",
        }});
        let binary = json!({"type": "binary", "mimeType": "image/png", "data": "AAAA"});
        let text = json!({"type": "text", "text": "hi"});
        let take = |parts: Value| {
            let body = json!({"threadId": "t", "runId": "r", "messages": [
                {"role": "user", "content": parts},
            ]});
            let mut input: RunInput = serde_json::from_value(body).unwrap();
            let files = input.take_files(&|_| None);
            (files, input.newest_message(10).unwrap().text)
        };
        for part in [&image, &binary] {
            let (files, said) = take(json!([text, part]));
            assert!(format!("{:?}", files.unwrap()).contains("/messages/0/content/1"));
            assert_eq!(said, "hi");
            assert_eq!(take(json!([part])).1, "");
        }
        for (part, place) in [
            (json!({"type": "image"}), "/source"),
            (
                json!({"type": "video", "source": {"type": "data"}}),
                "/source/value",
            ),
            (
                json!({"type": "audio", "source": {"type": "x", "value": "y"}}),
                "/source/type",
            ),
            (
                json!({"type": "document", "source": {"type": "file", "value": "y"}}),
                "/source/value",
            ),
            (json!({"type": "binary"}), "/id"),
        ] {
            let fault = take(json!([part])).0.unwrap_err();
            assert_eq!(fault.pointer, format!("/messages/0/content/0{place}"));
        }
    }

    #[test]
    fn an_id_that_cannot_be_stored_is_ignored() {
        for id in [json!(null), json!(""), json!("ä"), json!("x".repeat(129))] {
            let message = newest(&json!([{"id": id, "role": "user", "content": "hi"}]));
            assert_eq!(message.unwrap().id, None);
        }
    }

    #[test]
    fn faults_are_reported_where_they_are() {
        for (messages, pointer) in [
            (json!([]), "/messages"),
            (json!([{"role": "system", "content": "x"}]), "/messages"),
            (
                json!([{"role": "user", "content": ""}]),
                "/messages/0/content",
            ),
            (
                json!([{"role": "user", "content": "x".repeat(11)}]),
                "/messages/0/content",
            ),
            (
                json!([{"role": "user", "content": {}}]),
                "/messages/0/content",
            ),
            (
                json!([{"role": "user", "content": [{"type": "picture"}]}]),
                "/messages/0/content/0",
            ),
        ] {
            let error = newest(&messages).unwrap_err();
            assert_eq!(error.faults[0].pointer.as_deref(), Some(pointer));
        }
    }
}
