//! The reply engine that asks a language model, at any server that speaks `OpenAI` chat completions.
//!
//! An answer is one future (`answering`) that the stream given out drives itself (`voice`): dropping
//! the stream drops the future, and with it the connection. Each question goes out through `client`,
//! again as `patience` allows; its answer is heard by `listen`, event by event (`event_decoder`),
//! gathered in `heard` and said by `speech`. `prompt` is the form of what the model is told, `wire`
//! that of what is sent and what comes back; `fault` says what goes wrong, and what that means,
//! `complaint` what the upstream says of that. `tools` are offered, judged and called; `models` is
//! the list of what a server has.
//!
//! No upstream is trusted: not with memory, not with time, and not with what reaches the log. What
//! holds prompts, answers or arguments has no `Debug`.

mod address;
mod answering;
mod client;
mod complaint;
mod engine;
mod event_decoder;
mod fault;
mod heard;
mod listen;
mod models;
mod options;
mod patience;
mod prompt;
mod speech;
mod tools;
mod voice;
mod wire;

pub use engine::LlmReplyEngine;
pub use options::{LlmOptions, LlmOptionsError, LlmTimes};
