//! Requests.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

/// The body of a request for a chat completion. `M` is a sequence of [`PromptMessage`].
#[derive(Serialize)]
pub(crate) struct CompletionRequest<'a, M> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<&'a str>,
    pub(crate) messages: &'a M,
    pub(crate) stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stream_options: Option<StreamOptions>,
    #[serde(flatten)]
    pub(crate) settings: &'a Settings,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) tools: &'a [Tool<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parallel_tool_calls: Option<bool>,
}

/// Additional content of a stream.
#[derive(Serialize)]
pub(crate) struct StreamOptions {
    pub(crate) include_usage: bool,
}

/// The parameters of the model.
#[derive(Default, Serialize)]
pub(crate) struct Settings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seed: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) stop: Vec<String>,
}

/// One message of the prompt.
#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(crate) enum PromptMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: UserContent<'a>,
    },
    Assistant {
        content: Option<Cow<'a, str>>,
        /// Some servers require the model's reasoning back while it uses tools; only those send it
        /// under this name.
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<AssistantToolCall<'a>>,
    },
    Tool {
        tool_call_id: Cow<'a, str>,
        content: &'a str,
    },
}

/// The content of a message of the user.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum UserContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

/// A part of a message of the user.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ContentPart<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
    File { file: FileData<'a> },
    InputAudio { input_audio: AudioData },
}

/// A picture, as a data URL.
#[derive(Serialize)]
pub(crate) struct ImageUrl {
    pub(crate) url: String,
}

/// A document, as a data URL.
#[derive(Serialize)]
pub(crate) struct FileData<'a> {
    pub(crate) filename: &'a str,
    pub(crate) file_data: String,
}

/// Sound, in Base64.
#[derive(Serialize)]
pub(crate) struct AudioData {
    pub(crate) data: String,
    pub(crate) format: &'static str,
}

/// A tool call of the model in the history of the request.
#[derive(Serialize)]
pub(crate) struct AssistantToolCall<'a> {
    pub(crate) id: Cow<'a, str>,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) function: FunctionCall<'a>,
    /// An addition of some servers to a tool call that they require back unchanged, such as a
    /// signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) extra_content: Option<&'a Value>,
}

/// The called function and its arguments.
#[derive(Serialize)]
pub(crate) struct FunctionCall<'a> {
    pub(crate) name: &'a str,
    /// JSON text.
    pub(crate) arguments: &'a str,
}

/// A tool that the model may call.
#[derive(Serialize)]
pub(crate) struct Tool<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) function: Function<'a>,
}

/// The function of a tool.
#[derive(Serialize)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    pub(crate) parameters: Value,
}
