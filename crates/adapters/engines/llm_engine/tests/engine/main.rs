//! The engine against servers that work, and against servers that fail.

mod anthropic;
mod errors;
mod fixture;
mod logs;
mod models;
mod past_calls;
mod prompts;
mod refusals;
mod retries;
mod secrets;
mod settings;
mod streams;
mod thoughts;
mod tool_use;
mod tools;
mod unstreamed;
mod upstream;
