//! The tool `hand_over`. It only answers: the end of its call, once recorded, hands the conversation over.

use domain::handover;
use ports::{ToolDefinition, ToolHints};
use serde_json::json;

/// The result.
pub(crate) const DONE: &str = "A member of staff takes over this conversation. Tell the user.";

const DESCRIPTION: &str = "Hands this conversation over to a member of staff, who answers the user from the \
    next message on. Use it if the user asks for a person, or needs what you cannot do.";

/// Nothing happens if the conversation is handed over twice.
const HINTS: ToolHints = ToolHints {
    read_only: Some(false),
    destructive: Some(false),
    idempotent: Some(true),
    is_repeatable: true,
};

pub(crate) fn definition() -> ToolDefinition {
    ToolDefinition {
        name: handover::TOOL.to_owned(),
        description: DESCRIPTION.to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                handover::REASON: {
                    "type": "string",
                    "description": "What the member of staff should know, in a sentence",
                },
            },
            "additionalProperties": false,
        }),
        hints: HINTS,
    }
}
