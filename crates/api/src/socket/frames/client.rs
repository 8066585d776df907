//! Frames that clients send. `id` and `type` are read before the rest, and stand in their published
//! schemas alone (see [`super::document`]).

use domain::IdempotencyKey;
use secrecy::SecretString;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::chat::ChatRequest;

/// `connect`: the first frame of a socket.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConnectFrame {
    /// An API key or access token, on a socket whose upgrade carried no credential.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 65536, nullable = false)]
    pub token: Option<SecretString>,
    /// What to follow from now on.
    #[schema(value_type = Vec<super::Channel>)]
    pub channels: Vec<String>,
    /// Also the events after this position, for each channel.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64, nullable = false)]
    pub since: Option<i64>,
}

/// `subscribe`: follow one channel more, or begin one anew.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubscribeFrame {
    /// What to follow.
    #[schema(value_type = super::Channel)]
    pub channel: String,
    /// Also the events after this position.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64, nullable = false)]
    pub since: Option<i64>,
}

/// `unsubscribe`: no longer follow a channel.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UnsubscribeFrame {
    /// What to follow no longer.
    #[schema(value_type = super::Channel)]
    pub channel: String,
}

/// `refresh`: go on with another credential of the same principal.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RefreshFrame {
    /// An API key or access token.
    #[schema(value_type = String, max_length = 65536)]
    pub token: SecretString,
}

/// `chat`: a message to an agent, as the body of `POST /api/chat` is, but for `stream`: what
/// happens in the conversation follows as events and live frames until the turn has ended.
#[derive(Debug)]
pub struct ChatFrame {
    /// As the header of the same name.
    pub idempotency_key: Option<IdempotencyKey>,
    /// The message.
    pub request: ChatRequest,
}

/// `cancel`: end a queued or running turn.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CancelFrame {
    /// The turn.
    pub turn_id: String,
}

/// `typing`: somebody types in a conversation, or has stopped.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TypingFrame {
    /// Where.
    pub conversation_id: String,
    /// Whether they type.
    pub typing: bool,
}

/// `ping`: is anybody there?
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PingFrame {}
