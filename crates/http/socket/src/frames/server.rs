//! Frames that the server sends.

use domain::{
    ConversationId, Event, PrincipalId, ReasoningDelta, RegionName, ReplyDelta, Seq, TenantId,
    ToolCalled, ToolReturned, Turn, TurnId,
};
use kit::{problem::ProblemBody, socket_limits::SocketLimits};
use serde::Serialize;
use utoipa::ToSchema;

use super::Channel;

/// A frame that the server sends.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ServerFrame {
    /// The reply to a command.
    Reply(Box<ReplyFrame>),
    /// An event. Each channel receives its events in order and once.
    Event(Box<EventFrame>),
    /// Live data, which is not stored.
    Live {
        /// The live event.
        event: LiveEvent,
    },
    /// The replay of a channel has reached the present.
    CaughtUp {
        /// The channel.
        channel: Channel,
        /// The position up to which the channel has received all events.
        seq: Seq,
    },
    /// The channel cannot replay the events after the cursor and continues from the present: reload
    /// the state with plain requests.
    #[serde(rename_all = "camelCase")]
    Resync {
        /// The channel.
        channel: Channel,
        /// The position of the oldest event in the log.
        first_seq: Seq,
        /// The position from which the channel continues.
        head_seq: Seq,
        /// The reason.
        reason: ResyncReason,
    },
    /// The subscription of a channel has ended.
    Unsubscribed {
        /// The channel.
        channel: Channel,
        /// The reason.
        reason: UnsubscribeReason,
    },
    /// A check that the client responds, sent with each protocol ping. Any frame is a valid answer.
    Ping,
    /// The server is about to close the socket.
    #[serde(rename_all = "camelCase")]
    Goodbye {
        /// The close code.
        code: u16,
        /// The close code as a word.
        #[schema(value_type = String)]
        reason: &'static str,
        /// Milliseconds to wait before connecting again; null: do not connect again.
        reconnect_after_ms: Option<u64>,
    },
}

/// The reply to a command: `result` if it was executed, `error` if it was not.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReplyFrame {
    /// The command's `id`; null if it could not be read.
    pub id: Option<u64>,
    /// True if the command was executed.
    pub ok: bool,
    /// The result of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub result: Option<ReplyResult>,
    /// The reason why the command was not executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<ProblemBody>,
}

/// The result of a command.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum ReplyResult {
    /// The result of `connect`.
    Connect(ConnectResult),
    /// The result of `subscribe`.
    Subscribe(SubscribeResult),
    /// The result of `chat`, `cancel` and `act`.
    Turn(TurnResult),
    /// The result of all other commands.
    Empty(EmptyResult),
}

/// The result of `connect`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectResult {
    /// The id of the connection, and the prefix of each `requestId` on it.
    pub connection_id: String,
    /// The region that holds the connection; absent if it has no name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub region: Option<RegionName>,
    /// The tenant of the caller.
    pub tenant_id: TenantId,
    /// The position of the newest event in the log.
    pub head_seq: Seq,
    /// The interval between pings of the server, in milliseconds.
    pub ping_interval_ms: u64,
    /// The limits of the connection.
    pub limits: SocketLimits,
    /// The state of each requested channel, in the order of the request.
    pub channels: Vec<ChannelState>,
}

/// The state of one channel of `connect`.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChannelState {
    /// The channel as requested.
    pub channel: String,
    /// True if the channel is subscribed.
    pub ok: bool,
    /// True if all events after `since` follow. False without `since`, and when a `resync` follows.
    pub recovered: bool,
    /// The reason why the channel is not subscribed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<ProblemBody>,
}

/// The result of `subscribe`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscribeResult {
    /// The channel.
    pub channel: Channel,
    /// True if all events after `since` follow. False without `since`, and when a `resync` follows.
    pub recovered: bool,
    /// The position of the newest event in the log.
    pub head_seq: Seq,
}

/// The result of `chat`, `cancel` and `act`.
#[derive(Debug, Serialize, ToSchema)]
pub struct TurnResult {
    /// The current state of the turn.
    pub turn: Box<Turn>,
    /// True if an earlier chat with the same idempotency key started the turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

/// An empty result.
#[derive(Debug, Serialize, ToSchema)]
pub struct EmptyResult {}

/// An event of the tenant's log.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventFrame {
    /// The subscribed channels that the event belongs to.
    pub channels: Vec<Channel>,
    /// The event.
    pub event: Event,
}

/// Live data. A client that misses some loses nothing: a turn contains its whole text.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type")]
pub enum LiveEvent {
    /// The next part of the model's reasoning. Apply it if `from` is the length that you have; from 0, it begins anew.
    #[serde(rename = "reasoning.delta")]
    ReasoningDelta(ReasoningDelta),
    /// The next part of a reply. Apply it only if `from` is the length of the text that you have,
    /// in bytes of UTF-8.
    #[serde(rename = "reply.delta")]
    ReplyDelta(ReplyDelta),
    /// The engine calls a tool.
    #[serde(rename = "tool.called")]
    ToolCalled(ToolCalled),
    /// A tool call has ended. Calls end in the order in which they started.
    #[serde(rename = "tool.returned")]
    ToolReturned(ToolReturned),
    /// The reply so far, which replaces the text that you have.
    #[serde(rename = "reply.snapshot", rename_all = "camelCase")]
    ReplySnapshot {
        /// The turn.
        turn_id: TurnId,
        /// Its conversation.
        conversation_id: ConversationId,
        /// The length of the text, in bytes of UTF-8.
        to: usize,
        /// The text.
        text: String,
        /// The number of the attempt to run the turn, if it is not the first.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        attempt: Option<u32>,
    },
    /// A user has started or stopped typing.
    #[serde(rename = "typing.updated", rename_all = "camelCase")]
    TypingUpdated {
        /// The conversation.
        conversation_id: ConversationId,
        /// The principal that is typing.
        actor: PrincipalId,
        /// True if the user is typing.
        typing: bool,
    },
}

/// The reason why a channel continues from the present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum ResyncReason {
    /// The log does not contain the events after the cursor.
    Retention,
    /// More events follow the cursor than one channel replays.
    Limit,
}

/// The reason why a subscription has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum UnsubscribeReason {
    /// The agent or conversation was deleted, or is out of the reach of the credential of a `refresh`.
    Deleted,
}
