//! The engine against servers that answer as they should, and as they should not.

mod errors;
mod given;
mod logs;
mod models;
mod prompts;
mod repeats;
mod secrets;
mod settings;
mod streams;
mod tool_ends;
mod tool_faults;
mod tool_use;
mod tools;
mod upstream;
mod whole_answers;
