//! The reply engine of language models, for any server that implements `OpenAI` chat completions.
//!
//! A reply is one future (`reply_generator`) that the returned stream drives itself
//! (`chunk_sender`): dropping the stream drops the future, and with it the connection. `client`
//! sends each request over a connection of its runtime (`runtime_clients`), with retries by
//! `retry_policy`. `response_reader` reads the response (`paced_body`, `body_form`) event by event
//! (`event_decoder`, `chunk_template`), `response_accumulator` collects it without its `thoughts`,
//! and `reply_writer` sends its text. `prompt` builds the messages for the model, `wire` is the
//! format of requests and responses, `dialect` what servers refuse of it, and `error` and
//! `upstream_error` describe failures. `tools` offers tools to the model and executes its calls.
//! `model_list` is the list of a server's models.
//!
//! No upstream is trusted with memory, time or the content of logs. Types that contain prompts,
//! replies or arguments do not implement `Debug`.

mod address;
mod body_form;
mod chunk_sender;
mod chunk_template;
mod client;
mod dialect;
mod engine;
mod error;
mod event_decoder;
mod model_list;
mod options;
mod paced_body;
mod prompt;
mod reply_generator;
mod reply_writer;
mod response_accumulator;
mod response_reader;
mod retry_policy;
mod runtime_clients;
mod thoughts;
mod tools;
mod upstream_error;
mod wire;

pub use engine::LlmReplyEngine;
pub use options::{LlmOptions, LlmOptionsError, LlmTimeouts};
