//! Tools: the ones offered to the model, and the assembly, check and execution of its calls.

mod call;
mod large_integers;
mod names;
mod schema_cache;
mod tool_call_accumulator;
mod toolbox;

pub(crate) use call::{CallResult, CheckedCall, execute};
pub(crate) use schema_cache::SchemaCache;
pub(crate) use tool_call_accumulator::{Call, ToolCallAccumulator};
pub(crate) use toolbox::Toolbox;
