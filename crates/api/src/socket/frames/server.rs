//! Frames that the server sends.

use std::num::NonZeroU32;

use domain::{
    ConversationId, Event, PrincipalId, ReplyDelta, Seq, TenantId, ToolCalled, ToolReturned, Turn,
    TurnId,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::Channel;
use crate::problem::ProblemBody;

/// A frame that the server sends.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ServerFrame {
    /// The answer to a command.
    Reply(Box<ReplyFrame>),
    /// A change. Each channel gets its events in order and once.
    Event(Box<EventFrame>),
    /// Something of the moment, which is stored nowhere.
    Live {
        /// What.
        event: LiveEvent,
    },
    /// A channel's replay has come to the present.
    CaughtUp {
        /// The channel.
        channel: Channel,
        /// The position up to which it has been told everything.
        seq: Seq,
    },
    /// A channel cannot be told what happened since its cursor, and goes on from the present: read
    /// the state anew.
    #[serde(rename_all = "camelCase")]
    Resync {
        /// The channel.
        channel: Channel,
        /// The oldest event still in the log.
        first_seq: Seq,
        /// Where the channel goes on.
        head_seq: Seq,
        /// Why.
        reason: ResyncReason,
    },
    /// A channel has ended.
    Unsubscribed {
        /// The channel.
        channel: Channel,
        /// Why.
        reason: UnsubscribeReason,
    },
    /// Is anybody there? Comes with a ping of the protocol; any frame is an answer.
    Ping,
    /// The server is about to close the socket.
    #[serde(rename_all = "camelCase")]
    Goodbye {
        /// The code of the close.
        code: u16,
        /// The same in a word.
        #[schema(value_type = String)]
        reason: &'static str,
        /// How long to wait before connecting again; null: do not.
        reconnect_after_ms: Option<u64>,
    },
}

/// The answer to a command: `result` when it was carried out, `error` when it was not.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReplyFrame {
    /// The command's `id`; null when it could not be read.
    pub id: Option<u64>,
    /// Whether it was carried out.
    pub ok: bool,
    /// What came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub result: Option<ReplyResult>,
    /// Why it was not carried out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<ProblemBody>,
}

/// What came of a command.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum ReplyResult {
    /// Of `connect`.
    Connect(ConnectResult),
    /// Of `subscribe`.
    Subscribe(SubscribeResult),
    /// Of `chat` and `cancel`.
    Turn(TurnResult),
    /// Of the others.
    Empty(EmptyResult),
}

/// Of `connect`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectResult {
    /// Names this connection; part of each `requestId` here.
    pub connection_id: String,
    /// In whose data.
    pub tenant_id: TenantId,
    /// Where the log stands.
    pub head_seq: Seq,
    /// How often the server pings.
    pub ping_interval_ms: u64,
    /// What holds for this connection.
    pub limits: SocketLimits,
    /// What became of each channel, in the order in which they were named.
    pub channels: Vec<ChannelState>,
}

/// What holds for one socket. What the principal may do in a minute stands at `/api/limits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SocketLimits {
    /// Bytes of one frame.
    pub frame_bytes: u64,
    /// Bytes of one message, with all its fragments.
    pub message_bytes: u64,
    /// Channels.
    pub channels: usize,
    /// Commands that come back each second, evenly.
    #[schema(value_type = u32, minimum = 1)]
    pub commands_per_second: NonZeroU32,
    /// Commands that can be saved up and sent at once.
    #[schema(value_type = u32, minimum = 1)]
    pub commands_burst: NonZeroU32,
    /// Events that one channel can be told of the past; above that it is a `resync`.
    pub replayed_events: usize,
}

/// What became of one channel of `connect`.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChannelState {
    /// As it was named.
    pub channel: String,
    /// Whether it is followed.
    pub ok: bool,
    /// Whether everything after `since` follows. False without `since`, and when a `resync` follows.
    pub recovered: bool,
    /// Why it is not followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<ProblemBody>,
}

/// Of `subscribe`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscribeResult {
    /// The channel.
    pub channel: Channel,
    /// Whether everything after `since` follows. False without `since`, and when a `resync` follows.
    pub recovered: bool,
    /// Where the log stands.
    pub head_seq: Seq,
}

/// Of `chat` and `cancel`.
#[derive(Debug, Serialize, ToSchema)]
pub struct TurnResult {
    /// The turn as it is now.
    pub turn: Box<Turn>,
    /// Whether an earlier chat with the same idempotency key began it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

/// There is nothing to tell.
#[derive(Debug, Serialize, ToSchema)]
pub struct EmptyResult {}

/// A change in the tenant's log.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventFrame {
    /// The channels that it concerns.
    pub channels: Vec<Channel>,
    /// The change.
    pub event: Event,
}

/// Something of the moment. Whoever misses it loses nothing: a turn carries all of its text.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type")]
pub enum LiveEvent {
    /// More of a reply. Apply it only when `from` is what you have. Places are counted in bytes
    /// of UTF-8.
    #[serde(rename = "reply.delta")]
    ReplyDelta(ReplyDelta),
    /// The engine calls a tool.
    #[serde(rename = "tool.called")]
    ToolCalled(ToolCalled),
    /// A call of a tool has ended. Calls end in the order in which they were made.
    #[serde(rename = "tool.returned")]
    ToolReturned(ToolReturned),
    /// A reply so far, in place of what you have of it.
    #[serde(rename = "reply.snapshot", rename_all = "camelCase")]
    ReplySnapshot {
        /// The turn.
        turn_id: TurnId,
        /// Its conversation.
        conversation_id: ConversationId,
        /// Where the text ends.
        to: usize,
        /// The text.
        text: String,
    },
    /// Somebody types, or has stopped.
    #[serde(rename = "typing.updated", rename_all = "camelCase")]
    TypingUpdated {
        /// Where.
        conversation_id: ConversationId,
        /// Who.
        actor: PrincipalId,
        /// Whether they type.
        typing: bool,
    },
}

/// Why a channel goes on from the present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum ResyncReason {
    /// The log does not reach back to the cursor, or not forward to it.
    Retention,
    /// More happened than one channel is told.
    Limit,
}

/// Why a channel has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum UnsubscribeReason {
    /// What it follows has been deleted.
    Deleted,
}
