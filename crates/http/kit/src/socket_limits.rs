//! The limits of one socket, which two surfaces publish.

use std::num::NonZeroU32;

use serde::Serialize;
use utoipa::ToSchema;

/// The limits of one socket. `/api/limits` returns the rate limits of the principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SocketLimits {
    /// The maximum size of one frame, in bytes.
    pub frame_bytes: u64,
    /// The maximum size of one message with all its fragments, in bytes.
    pub message_bytes: u64,
    /// The maximum number of channels.
    pub channels: usize,
    /// The sustained rate of commands per second.
    #[schema(value_type = u32, minimum = 1)]
    pub commands_per_second: NonZeroU32,
    /// The maximum number of commands in one burst.
    #[schema(value_type = u32, minimum = 1)]
    pub commands_burst: NonZeroU32,
    /// The maximum number of past events that one channel replays; more result in a `resync`.
    pub replayed_events: usize,
}
