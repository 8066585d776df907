//! The steps of a turn: the tool calls of a model, and their results.

use serde_json::Value;

/// The response to one request to a model that called tools, with the results of the calls.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelStep {
    /// The text before the calls.
    pub text: String,
    /// Data of the engine that it receives again with this step. Opaque to all others, and bound to the
    /// engine and the model that sent it.
    pub state: Option<Value>,
    /// The calls, in the order in which the model asked for them.
    pub calls: Vec<ToolStep>,
}

/// One tool call of a model, and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolStep {
    /// The id of the call, as in [`crate::ToolCall`].
    pub call_id: String,
    /// The tool, or a printable form of the name that the model used if there is no such tool.
    pub name: String,
    /// The name of the function, in a form that models accept.
    pub function: String,
    /// The arguments, as JSON text of an object.
    pub arguments: String,
    /// The status, as in [`crate::ToolCall`].
    pub status: String,
    /// The result as the model reads it.
    pub result: String,
}
