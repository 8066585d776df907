//! The frames of a socket, in both directions: one JSON object a text frame.

mod channel;
mod client;
mod read;
mod schema;
mod server;
#[cfg(test)]
mod tests;
mod write;

pub use channel::{Channel, ChannelError, MAX_CHANNELS};
pub use client::{
    CancelFrame, ChatFrame, ConnectFrame, PingFrame, RefreshFrame, SubscribeFrame, TypingFrame,
    UnsubscribeFrame,
};
pub use read::{ClientFrame, Command, InvalidFrame, read, read_id};
pub use schema::{COMMANDS, COMMON_FRAME, components, document};
pub use server::{
    ChannelState, ConnectResult, EmptyResult, EventFrame, LiveEvent, ReplyFrame, ReplyResult,
    ResyncReason, ServerFrame, SubscribeResult, TurnResult, UnsubscribeReason,
};
pub use write::{encode, event_frame};
