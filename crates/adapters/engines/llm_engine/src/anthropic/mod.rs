//! Requests and responses in the format of Anthropic's messages. No type implements `Debug`: they contain
//! prompts, replies and arguments, which must not be logged.

mod event;
mod event_reader;
mod messages;
mod request;
mod schema;
mod usage;

pub(crate) use event_reader::EventReader;
pub(crate) use request::request_body;
pub(crate) use schema::takes_schema;

/// The path of requests below a base URL.
pub(crate) const PATH: [&str; 1] = ["messages"];
/// The header with the version of the interface, which refuses `temperature`, `top_p` and `top_k`.
pub(crate) const VERSION: (&str, &str) = ("anthropic-version", "2026-10-21");
/// The maximum number of models in one answer to a request for the list.
pub(crate) const MODELS_PER_PAGE: usize = 1000;

/// The members that the service sends itself. They cannot be permitted.
pub(crate) const OWN_MEMBERS: [&str; 10] = [
    "model",
    "max_tokens",
    "stream",
    "tools",
    "tool_choice",
    "system",
    "messages",
    "stop_sequences",
    "thinking",
    "output_config",
];
