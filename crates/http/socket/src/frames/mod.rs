//! The frames of a socket, in both directions: one JSON object a text frame.

mod channel;
mod client;
mod read;
mod schema;
mod server;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use channel::MAX_CHANNELS;
pub use channel::{Channel, ChannelError};
pub use client::{
    ActFrame, CancelFrame, ChatFrame, ConnectFrame, PingFrame, RefreshFrame, SubscribeFrame,
    TypingFrame, UnsubscribeFrame,
};
pub(crate) use read::read_id;
pub use read::{ClientFrame, Command, InvalidFrame, read};
pub use schema::{COMMANDS, components, document};
pub use server::{
    ChannelState, ConnectResult, EmptyResult, EventFrame, LiveEvent, ReplyFrame, ReplyResult,
    ResyncReason, ServerFrame, SubscribeResult, TurnResult, UnsubscribeReason,
};
pub(crate) use write::{encode, event_frame};
