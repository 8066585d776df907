//! Frames that clients send. `id` and `type` are parsed before the rest, and appear only in the
//! published schemas (see [`super::document`]).

use domain::IdempotencyKey;
use kit::{actions::ActionItem, chat::ChatRequest};
use secrecy::SecretString;
use serde::Deserialize;
use utoipa::ToSchema;

/// `connect`: the first command on a socket.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConnectFrame {
    /// An API key or access token, if the upgrade carried no credential.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 65536, nullable = false)]
    pub token: Option<SecretString>,
    /// The channels to subscribe to.
    #[schema(value_type = Vec<super::Channel>)]
    pub channels: Vec<String>,
    /// A cursor: replay the events after this position in each channel.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64, nullable = false)]
    pub since: Option<i64>,
}

/// `subscribe`: subscribe to one more channel, or restart one from a cursor.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubscribeFrame {
    /// The channel to subscribe to.
    #[schema(value_type = super::Channel)]
    pub channel: String,
    /// A cursor: replay the events after this position.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64, nullable = false)]
    pub since: Option<i64>,
}

/// `unsubscribe`: end the subscription of a channel.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UnsubscribeFrame {
    /// The channel to unsubscribe from.
    #[schema(value_type = super::Channel)]
    pub channel: String,
}

/// `refresh`: continue with another credential of the same principal.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RefreshFrame {
    /// An API key or access token.
    #[schema(value_type = String, max_length = 65536)]
    pub token: SecretString,
}

/// `chat`: send a message to an agent. The members are those of the body of `POST /api/chat`
/// without `stream`. Events and live data of the conversation follow until the turn has ended.
#[derive(Debug)]
pub struct ChatFrame {
    /// The same as the header `Idempotency-Key`.
    pub idempotency_key: Option<IdempotencyKey>,
    /// The message.
    pub request: ChatRequest,
}

/// `cancel`: cancel a queued or running turn.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CancelFrame {
    /// The turn.
    pub turn_id: String,
}

/// `act`: answer tool calls of a turn that waits for them. The turn goes on with the last answer; its
/// events and live data follow as for `chat`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActFrame {
    /// The turn.
    pub turn_id: String,
    /// The answers: all of them are stored, or none.
    #[schema(min_items = 1, max_items = 128)]
    pub actions: Vec<ActionItem>,
}

/// `typing`: the user starts or stops typing in a conversation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TypingFrame {
    /// The conversation.
    pub conversation_id: String,
    /// True if the user is typing.
    pub typing: bool,
}

/// `ping`: check that the server responds.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PingFrame {}
