//! The body of a chat.

use application::{ChatCommand, chat::OnBusy};
use domain::{ConversationId, ProblemCode, config::Metadata};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{problem::ApiError, request::JsonBody};

/// A message to an agent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChatRequest {
    /// The agent that is to reply.
    agent_id: String,
    /// The text of the message.
    #[schema(min_length = 1, max_length = 32000, pattern = r"^[^\x00]*$")]
    message: String,
    /// The conversation to continue. A new one is created when this is absent or null.
    #[serde(default)]
    conversation_id: Option<String>,
    /// The user who sends the message. A new conversation belongs to this user; an existing one
    /// must belong to this user.
    #[serde(default)]
    #[schema(
        min_length = 1,
        max_length = 320,
        pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
    )]
    user_id: Option<String>,
    /// Pairs of strings for the client's own use, stored with the turn.
    #[serde(default)]
    #[schema(value_type = domain::config::MetadataSchema)]
    metadata: Metadata,
    /// The behavior while another turn of the conversation is in progress. Default: `queue`.
    #[serde(default)]
    on_busy: WhenBusy,
    /// Returns the reply as a stream of server-sent events when true. Default: decided by `Accept`.
    #[serde(default)]
    #[schema(nullable = false)]
    stream: Option<bool>,
}

/// The behavior while another turn of the conversation is in progress.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenBusy {
    /// Wait until the turns before it have ended.
    #[default]
    Queue,
    /// Reject the message with 409 `conversation_busy`.
    Reject,
}

impl JsonBody for ChatRequest {
    const SCHEMA: &'static str = "ChatRequest";
}

impl ChatRequest {
    /// Returns the member `stream`; `None` leaves the decision to `Accept`.
    pub fn stream(&self) -> Option<bool> {
        self.stream
    }

    /// Returns the conversation to continue, if the request has a well-formed id.
    pub fn conversation(&self) -> Option<ConversationId> {
        self.conversation_id.as_ref()?.parse().ok()
    }

    /// Converts the body into a command. A malformed id is reported as not found.
    pub fn into_command(self, request_id: Option<String>) -> Result<ChatCommand, ApiError> {
        let conversation_id = match self.conversation_id.map(|id| id.parse()) {
            Some(Err(_malformed)) => return Err(ProblemCode::ConversationNotFound.into()),
            Some(Ok(id)) => Some(id),
            None => None,
        };
        Ok(ChatCommand {
            agent_id: self
                .agent_id
                .parse()
                .map_err(|_malformed| ProblemCode::AgentNotFound)?,
            message: self.message,
            conversation_id,
            user_id: self.user_id,
            metadata: self.metadata,
            on_busy: match self.on_busy {
                WhenBusy::Queue => OnBusy::Queue,
                WhenBusy::Reject => OnBusy::Reject,
            },
            request_id,
        })
    }
}
