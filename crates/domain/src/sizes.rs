//! How large things may be. Text is counted in Unicode characters, bodies in bytes.

use serde::{Deserialize, Serialize};

/// Every size limit. The defaults stand in the published schemas; a server configured otherwise
/// publishes its own figures and tells them at `/api/limits`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Sizes {
    /// Characters of an agent's name.
    pub name_characters: u32,
    /// Characters of an agent's personality.
    pub personality_characters: u32,
    /// Capabilities of an agent.
    pub capabilities: u32,
    /// Characters of one capability.
    pub capability_characters: u32,
    /// Characters of one chat message.
    pub message_characters: u32,
    /// Characters of a conversation's title.
    pub title_characters: u32,
    /// Characters of a user's id.
    pub user_id_characters: u32,
    /// Rules of an agent.
    pub rules: u32,
    /// Bytes of a request's body.
    pub body_bytes: u32,
    /// Bytes of a request's target (path and query).
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
            url_bytes: 8 * 1024,
        }
    }
}

/// Pairs of a `metadata` object.
pub const METADATA_PAIRS: usize = 16;
/// Characters of a `metadata` key.
pub const METADATA_KEY_CHARACTERS: usize = 64;
/// Characters of a `metadata` value.
pub const METADATA_VALUE_CHARACTERS: usize = 512;
/// Agent messages above this many bytes are left out of events.
pub const EVENT_MESSAGE_BYTES: usize = 32 * 1024;
/// Levels of arrays and objects that a tool's arguments may have: deeper ones are neither given to
/// the tool nor kept. Stores and readers give up at some depth, of which this is far from all.
pub const ARGUMENT_LEVELS: usize = 32;
/// Bytes of JSON that are kept of the arguments of all calls of a turn.
pub const TURN_ARGUMENT_BYTES: usize = 1024 * 1024;
/// Arguments of a turn's calls are left out of events when they have more bytes together.
pub const EVENT_ARGUMENT_BYTES: usize = 32 * 1024;
/// The maximum size of a page of a list or of the log, in bytes. A page holds at least one item.
pub const PAGE_BYTES: usize = 1024 * 1024;
/// Turns that may wait behind a running one in a conversation.
pub const WAITING_TURNS: u32 = 16;
