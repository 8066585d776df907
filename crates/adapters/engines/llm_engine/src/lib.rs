//! The reply engine of language models, for any server that implements `OpenAI` chat completions, and for Anthropic's
//! API.
//!
//! A request is one future (`completion`) that the returned stream drives itself
//! (`chunk_sender`): dropping the stream drops the future, and with it the connection. `client`
//! sends it over a connection of its runtime (`runtime_clients`), with retries by
//! `retry_policy`. `response_reader` reads the response (`paced_body`, `body_form`) event by event
//! (`chunk_template`), `response_accumulator` collects it without its `thoughts`,
//! and `tool_call_accumulator` assembles its tool calls. `prompt` is the conversation for the model, `demands` the
//! other content of requests, with the additions of agents (`extra_body`) and without the parameters that servers
//! refuse (`dialect`, `efforts`). `error` and `upstream_error` describe failures. `step_state` is what a server wants
//! to see again with its tool calls. `model_list` is the list of a server's models.
//!
//! `openai` and `anthropic` are the formats of requests and responses, between which `api` chooses. To add one, write
//! such a folder and its lines in `api`.
//!
//! No upstream is trusted with memory, time or the content of logs. Types that contain prompts,
//! replies or arguments do not implement `Debug`.

mod address;
mod anthropic;
mod api;
mod base64_text;
mod body_form;
mod chunk_sender;
mod chunk_template;
mod client;
mod completion;
mod demands;
mod dialect;
mod efforts;
mod engine;
mod error;
mod extra_body;
mod lenient;
mod model_list;
mod openai;
mod options;
mod paced_body;
mod prompt;
mod response_accumulator;
mod response_reader;
mod retry_policy;
mod runtime_clients;
mod step_state;
mod surrogates;
mod thoughts;
mod tool_call_accumulator;
mod upstream_error;

pub use api::LlmApi;
pub use engine::LlmReplyEngine;
pub use options::{LlmOptions, LlmOptionsError, LlmTimeouts};
