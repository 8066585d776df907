//! What holds for every socket.

use super::{
    FRAME_BYTES, MESSAGE_BYTES,
    command_rate::{COMMANDS_AT_ONCE, COMMANDS_PER_SECOND},
    frames::{MOST_CHANNELS, SocketLimits},
    subscriptions::MOST_REPLAYED,
};

/// What holds for every socket, whoever is at its other end.
pub const SOCKET_LIMITS: SocketLimits = SocketLimits {
    frame_bytes: FRAME_BYTES,
    message_bytes: MESSAGE_BYTES,
    channels: MOST_CHANNELS,
    commands_per_second: COMMANDS_PER_SECOND,
    commands_burst: COMMANDS_AT_ONCE,
    replayed_events: MOST_REPLAYED,
};
