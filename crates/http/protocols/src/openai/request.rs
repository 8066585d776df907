//! The body of a chat completion. Members that are not listed here have no effect.

use std::collections::BTreeMap;

use domain::{
    ClientTool, ConversationKey, FaultCode, InputFault, ProblemCode, ResponseSchema, Sizes,
    config::Metadata,
    fault::{list::MAX_FAULTS, push_token},
};
use kit::problem::ApiError;
use ports::{ToolChoice, ToolUse};
use serde::Deserialize;
use serde_json::{Value, json};

use super::messages::{ClientMessage, Reader, Texts, ends_with_result};
use crate::{
    answers::ClientCalls,
    client_tools::{client_tool, separate},
    file_parts::{FileParts, OwnFile},
    response_schema::response_schema,
};

/// The maximum number of tools, which is that of models: Open WebUI sends 36 with each message.
const MAX_TOOLS: usize = 128;
/// The member of `metadata` that names the conversation.
const CONVERSATION_KEY: &str = "conversation_key";

/// The body of a request, as a client sends it.
#[derive(Debug, Deserialize)]
pub(super) struct CompletionBody {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    messages: Vec<ClientMessage>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    metadata: Option<BTreeMap<String, Value>>,
    #[serde(default)]
    store: Option<bool>,
    #[serde(default)]
    n: Option<f64>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    tool_choice: Option<Value>,
    #[serde(default)]
    parallel_tool_calls: Option<bool>,
    #[serde(default)]
    function_call: Option<Value>,
    #[serde(default)]
    modalities: Option<Vec<String>>,
    #[serde(default)]
    response_format: Option<ResponseFormat>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct ResponseFormat {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    json_schema: Value,
}

/// The place of the schema of a reply.
pub(super) const SCHEMA: &str = "/response_format/json_schema/schema";

/// A request for a chat completion.
#[derive(Debug)]
pub(super) struct CompletionRequest {
    /// The id or the name of the agent.
    pub(super) model: String,
    /// The texts.
    pub(super) texts: Texts,
    /// The files of the message to reply to.
    pub(super) files: FileParts,
    /// The tools that the client runs.
    pub(super) tools: Vec<ClientTool>,
    /// Its demands on the model's tool calls.
    pub(super) tool_use: ToolUse,
    /// The schema of the reply.
    pub(super) response_schema: Option<ResponseSchema>,
    /// The stored conversation; `None` if nothing is stored.
    pub(super) stored: Option<StoredConversation>,
    /// True if the reply is streamed.
    pub(super) stream: bool,
    /// True if the last chunk of a stream has the token counts.
    pub(super) include_usage: bool,
}

/// The stored conversation that a request continues or begins.
#[derive(Debug)]
pub(super) struct StoredConversation {
    /// Its key.
    pub(super) key: ConversationKey,
    /// The other pairs of `metadata`, for the turn.
    pub(super) metadata: Metadata,
    /// The calls that the client knows, with the results of its tools.
    pub(super) calls: ClientCalls,
    /// True if the results are not followed by a message.
    pub(super) continues: bool,
}

impl CompletionBody {
    /// Checks the body, and reports all its faults at once.
    pub(super) fn read(
        mut self,
        sizes: &Sizes,
        own_file: OwnFile<'_>,
    ) -> Result<CompletionRequest, ApiError> {
        let mut faults = Vec::new();
        let (tools, tool_use) = self.tools(&mut faults);
        let response_schema = self.response_schema().unwrap_or_else(|fault| {
            faults.push(fault);
            None
        });
        self.reject_unsupported(&mut faults);
        let model = self.model.unwrap_or_default();
        if model.is_empty() {
            let detail = "required: the id or the name of an agent";
            faults.push(InputFault::new("/model", FaultCode::Required, detail));
        }
        let mut stored = stored_conversation(self.metadata, self.store, &mut faults);
        let mut reader = Reader::new(sizes, &mut faults);
        let texts = match &mut stored {
            // The stored conversation is the history.
            Some(stored) => {
                stored.calls = reader.calls(&self.messages);
                stored.continues = ends_with_result(&self.messages);
                if stored.continues {
                    Texts::default()
                } else {
                    Texts::newest(&self.messages, &mut reader)
                }
            }
            None => Texts::whole(&self.messages, &mut reader),
        };
        let files = match texts.position {
            Some(at) => self.messages[at].take_files(at, own_file, &mut faults),
            None => FileParts::default(),
        };
        faults.truncate(MAX_FAULTS);
        if !faults.is_empty() {
            return Err(ApiError::faults(ProblemCode::ValidationFailed, faults));
        }
        let options = self.stream_options;
        Ok(CompletionRequest {
            model,
            texts,
            files,
            tools,
            tool_use,
            response_schema,
            stored,
            stream: self.stream.unwrap_or_default(),
            include_usage: options.and_then(|it| it.include_usage).unwrap_or_default(),
        })
    }

    /// Returns the tools of the client that the model may call, and what is demanded of its calls.
    fn tools(&self, faults: &mut Vec<InputFault>) -> (Vec<ClientTool>, ToolUse) {
        let choice = match self.tool_choice.as_ref().map(read_choice) {
            None => ToolChoice::Auto,
            Some(Ok(Some(choice))) => choice,
            Some(Ok(None)) => return Default::default(),
            Some(Err(fault)) => {
                faults.push(fault);
                ToolChoice::Auto
            }
        };
        let tool_use = ToolUse {
            choice,
            parallel: self.parallel_tool_calls,
        };
        let mut described = Vec::new();
        for (index, tool) in self.tools.iter().flatten().enumerate() {
            if let Some(tool) = read_tool(tool) {
                described.push(tool);
            } else {
                let detail = "must be a function with its name, and its parameters as an object";
                let pointer = format!("/tools/{index}");
                faults.push(InputFault::new(pointer, FaultCode::UnknownValue, detail));
            }
        }
        let (usable, others) = separate(described, MAX_TOOLS);
        if let Some(other) = others.first() {
            let detail = format!(
                "'{}' is malformed, a duplicate, or beyond {MAX_TOOLS} tools of 32 KiB together",
                other.name
            );
            faults.push(InputFault::new("/tools", FaultCode::NotCombinable, detail));
        }
        (usable, tool_use)
    }

    /// Returns the schema of the reply; `None` for a text.
    fn response_schema(&self) -> Result<Option<ResponseSchema>, InputFault> {
        let Some(format) = &self.response_format else {
            return Ok(None);
        };
        match format.kind.as_str() {
            "text" => Ok(None),
            "json_object" => response_schema(&json!({"type": "object"}), SCHEMA),
            "json_schema" => {
                let schema = response_schema(&format.json_schema["schema"], SCHEMA)?;
                let missing = || InputFault::new(SCHEMA, FaultCode::Required, "required");
                schema.ok_or_else(missing).map(Some)
            }
            _ => {
                let (pointer, code) = ("/response_format/type", FaultCode::UnknownValue);
                let detail = "must be 'text', 'json_object' or 'json_schema'";
                Err(InputFault::new(pointer, code, detail))
            }
        }
    }

    /// Reports what would change the meaning of the reply if it were ignored.
    fn reject_unsupported(&self, faults: &mut Vec<InputFault>) {
        // Functions in the old form are never called. A model that may call them need not.
        let requires = |choice: &Value| choice.is_object() || choice.as_str() == Some("required");
        let requires_function = self.function_call.as_ref().is_some_and(requires);
        let modalities = self.modalities.as_deref().unwrap_or_default();
        for (pointer, is_unsupported, detail) in [
            (
                "/function_call",
                requires_function,
                "must be 'auto' or 'none': 'functions' are not called; use 'tools'",
            ),
            (
                "/n",
                self.n.is_some_and(|n| n > 1.0),
                "at most 1: a message has one reply",
            ),
            (
                "/modalities",
                modalities.iter().any(|it| it != "text"),
                "must be ['text']: agents reply with text",
            ),
        ] {
            if is_unsupported {
                faults.push(InputFault::new(pointer, FaultCode::UnknownValue, detail));
            }
        }
    }
}

/// Reads a tool of the client; `None` if it is malformed.
fn read_tool(tool: &Value) -> Option<ClientTool> {
    let function = &tool["function"];
    let (description, parameters) = (&function["description"], &function["parameters"]);
    let is_readable = tool["type"] == "function"
        && (description.is_null() || description.is_string())
        && (parameters.is_null() || parameters.is_object());
    let name = Some(&function["name"]).filter(|_| is_readable)?;
    client_tool(name, description, parameters)
}

/// Reads a choice of tools; `None` leaves out those of the client.
fn read_choice(choice: &Value) -> Result<Option<ToolChoice>, InputFault> {
    let function = choice["function"]["name"].as_str();
    let function = function.filter(|_| choice["type"] == "function");
    match (choice.as_str(), function) {
        (Some("auto"), _) => Ok(Some(ToolChoice::Auto)),
        (Some("required"), _) => Ok(Some(ToolChoice::Required)),
        (Some("none"), _) => Ok(None),
        (None, Some(name)) => Ok(Some(ToolChoice::Function(name.to_owned()))),
        _ => {
            let detail = "must be 'auto', 'none', 'required' or a function with its name";
            let fault = InputFault::new("/tool_choice", FaultCode::UnknownValue, detail);
            Err(fault)
        }
    }
}

/// Reads the conversation from `metadata`. Other pairs matter only if the turn is stored.
fn stored_conversation(
    metadata: Option<BTreeMap<String, Value>>,
    store: Option<bool>,
    faults: &mut Vec<InputFault>,
) -> Option<StoredConversation> {
    let mut metadata = metadata.unwrap_or_default();
    let key = metadata.remove(CONVERSATION_KEY).filter(|it| !it.is_null());
    let Some(key) = key else {
        if store == Some(true) {
            let detail = "needs 'metadata.conversation_key', the name of the conversation";
            faults.push(InputFault::new("/store", FaultCode::NotCombinable, detail));
        }
        return None;
    };
    if store == Some(false) {
        let detail = "cannot be false with 'metadata.conversation_key'";
        faults.push(InputFault::new("/store", FaultCode::NotCombinable, detail));
    }
    let mut pairs = Metadata::new();
    for (name, value) in metadata {
        if let Value::String(text) = value {
            pairs.insert(name, text);
        } else {
            let mut pointer = "/metadata".to_owned();
            push_token(&mut pointer, &name);
            let detail = "must be a text";
            faults.push(InputFault::new(pointer, FaultCode::WrongType, detail));
        }
    }
    let parsed = key.as_str().map(str::parse::<ConversationKey>);
    let fault = |code, detail: String| {
        InputFault::new(format!("/metadata/{CONVERSATION_KEY}"), code, detail)
    };
    match parsed {
        Some(Ok(key)) => {
            return Some(StoredConversation {
                key,
                metadata: pairs,
                calls: ClientCalls::default(),
                continues: false,
            });
        }
        Some(Err(error)) => faults.push(fault(FaultCode::BadFormat, error.to_string())),
        None => faults.push(fault(FaultCode::WrongType, "must be a text".to_owned())),
    }
    None
}

#[cfg(test)]
mod tests;
