//! Size limits. Text is counted in Unicode characters, bodies in bytes.

use serde::{Deserialize, Serialize};

/// All size limits. The published schemas contain the defaults. A server that is configured
/// otherwise publishes its own limits, also at `/api/limits`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Sizes {
    /// Maximum number of characters of an agent's name.
    pub name_characters: u32,
    /// Maximum number of characters of an agent's personality.
    pub personality_characters: u32,
    /// Maximum number of capabilities of an agent.
    pub capabilities: u32,
    /// Maximum number of characters of one capability.
    pub capability_characters: u32,
    /// Maximum number of characters of one chat message.
    pub message_characters: u32,
    /// Maximum number of characters of a conversation's title.
    pub title_characters: u32,
    /// Maximum number of characters of a user's id.
    pub user_id_characters: u32,
    /// Maximum number of rules of an agent.
    pub rules: u32,
    /// Maximum number of bytes of a request's body.
    pub body_bytes: u32,
    /// Maximum number of bytes of a file.
    pub file_bytes: u32,
    /// Maximum number of bytes of a request's target (path and query).
    pub url_bytes: u32,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            name_characters: 128,
            personality_characters: 8_000,
            capabilities: 64,
            capability_characters: 64,
            message_characters: 32_000,
            title_characters: 200,
            user_id_characters: 320,
            rules: 200,
            body_bytes: 256 * 1024,
            file_bytes: 20 * 1024 * 1024,
            url_bytes: 8 * 1024,
        }
    }
}

/// The maximum number of pairs of a `metadata` object.
pub const METADATA_PAIRS: usize = 16;
/// The maximum number of characters of a `metadata` key.
pub const METADATA_KEY_CHARACTERS: usize = 64;
/// The maximum number of characters of a `metadata` value.
pub const METADATA_VALUE_CHARACTERS: usize = 512;
/// The maximum number of bytes of an agent's message in an event; larger ones are omitted.
pub const EVENT_MESSAGE_BYTES: usize = 32 * 1024;
/// The maximum number of bytes of a tool's result in the turns after its own.
pub const PAST_RESULT_BYTES: usize = 4 * 1024;
/// The maximum nesting depth of a tool's arguments. Deeper arguments are neither passed to the tool
/// nor stored. The depth limits of stores and JSON readers are much higher.
pub const ARGUMENT_LEVELS: usize = 32;
/// The maximum number of bytes of the arguments of one call as JSON.
pub const ARGUMENT_BYTES: usize = 64 * 1024;
/// The maximum number of bytes of JSON that are stored of the arguments of all calls of a turn.
pub const TURN_ARGUMENT_BYTES: usize = 1024 * 1024;
/// The maximum number of bytes of one tool result; a longer one is not stored.
pub const TOOL_RESULT_BYTES: usize = 64 * 1024;
/// The maximum number of bytes that are stored of the results of all calls of a turn.
pub const TURN_RESULT_BYTES: usize = 1024 * 1024;
/// The maximum number of bytes of the arguments and results of all calls of a turn in an event;
/// larger ones are omitted.
pub const EVENT_TOOL_BYTES: usize = 32 * 1024;
/// The maximum size of a page of a list or of the log, in bytes. A page holds at least one item.
pub const PAGE_BYTES: usize = 1024 * 1024;
