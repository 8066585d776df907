//! What is said on a socket: one JSON object a text frame, in both directions.

mod channel;
mod client;
mod read;
mod schema;
mod server;
#[cfg(test)]
mod tests;
mod write;

pub use channel::{CHANNEL_PATTERN, Channel, ChannelError, MOST_CHANNELS};
pub use client::{
    CancelFrame, ChatFrame, ConnectFrame, PingFrame, RefreshFrame, SubscribeFrame, TypingFrame,
    UnsubscribeFrame,
};
pub use read::{ClientFrame, Command, Refused, read, read_id};
pub use schema::{COMMANDS, UNKNOWN_COMMAND, components, document};
pub use server::{
    ChannelState, ConnectResult, EmptyResult, EventFrame, LiveEvent, ReplyFrame, ReplyResult,
    ResyncReason, ServerFrame, SocketLimits, SubscribeResult, TurnResult, UnsubscribeReason,
};
pub use write::{encode, event_frame};
