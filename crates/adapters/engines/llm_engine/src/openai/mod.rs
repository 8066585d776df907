//! Requests and responses in the format of `OpenAI`'s chat completions. No type implements `Debug`:
//! they contain prompts, replies and arguments, which must not be logged.

mod accumulation;
mod body;
mod chunk_reader;
mod messages;
mod request;
mod response;
mod usage;

pub(crate) use body::request_body;
pub(crate) use chunk_reader::ChunkReader;
pub(crate) use messages::{Messages, functions};
pub(crate) use request::{
    AssistantToolCall, AudioData, CompletionRequest, ContentPart, FileData, Function, FunctionCall,
    ImageUrl, PromptMessage, ResponseFormat, Settings, StreamOptions, Tool, UserContent,
};
pub(crate) use response::{Chunk, Content, Part};

/// The path of chat completions below a base URL.
pub(crate) const PATH: [&str; 2] = ["chat", "completions"];

/// The members that agents may add unless the operator says otherwise.
pub(crate) const USUAL_EXTRA_BODY: [&str; 4] = [
    "top_k",
    "min_p",
    "repetition_penalty",
    "chat_template_kwargs",
];

/// The members that the service sends itself. They cannot be permitted.
pub(crate) const OWN_MEMBERS: [&str; 15] = [
    "model",
    "messages",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "max_tokens",
    "max_completion_tokens",
    "seed",
    "stop",
    "reasoning_effort",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
];
