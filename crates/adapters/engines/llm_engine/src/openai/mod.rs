//! Requests and responses in the format of `OpenAI`'s chat completions. No type implements `Debug`:
//! they contain prompts, replies and arguments, which must not be logged.

mod chunk_reader;
mod dialect;
mod messages;
mod request;
mod response;
mod usage;

pub(crate) use chunk_reader::ChunkReader;
pub(crate) use dialect::{Dialect, Dialects, RefusedParameters};
pub(crate) use messages::{Messages, functions};
pub(crate) use request::{
    AssistantToolCall, AudioData, CompletionRequest, ContentPart, FileData, Function, FunctionCall,
    ImageUrl, PromptMessage, ResponseFormat, Settings, StreamOptions, Tool, UserContent,
};
pub(crate) use response::{Chunk, Content, Part};

/// The path of chat completions below a base URL.
pub(crate) const PATH: [&str; 2] = ["chat", "completions"];
