//! The limits of every socket.

use kit::socket_limits::SocketLimits;

use super::{
    MAX_FRAME_BYTES, MAX_MESSAGE_BYTES,
    command_rate::{COMMAND_BURST, COMMANDS_PER_SECOND},
    frames::MAX_CHANNELS,
    subscriptions::MAX_REPLAYED_EVENTS,
};

/// The limits of every socket, for all principals.
pub const SOCKET_LIMITS: SocketLimits = SocketLimits {
    frame_bytes: MAX_FRAME_BYTES,
    message_bytes: MAX_MESSAGE_BYTES,
    channels: MAX_CHANNELS,
    commands_per_second: COMMANDS_PER_SECOND,
    commands_burst: COMMAND_BURST,
    replayed_events: MAX_REPLAYED_EVENTS,
};
