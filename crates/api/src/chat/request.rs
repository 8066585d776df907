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
    /// Who is to answer.
    agent_id: String,
    /// The text.
    #[schema(min_length = 1, max_length = 32000, pattern = r"^[^\x00]*$")]
    message: String,
    /// The conversation to continue; a new one when absent or null.
    #[serde(default)]
    conversation_id: Option<String>,
    /// The person who speaks: a new conversation belongs to them; in an existing one it must be
    /// theirs.
    #[serde(default)]
    #[schema(
        min_length = 1,
        max_length = 320,
        pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
    )]
    user_id: Option<String>,
    /// String pairs of the client's own, for the turn.
    #[serde(default)]
    #[schema(value_type = domain::config::MetadataSchema)]
    metadata: Metadata,
    /// What to do while a turn is in progress in the conversation. Default: `queue`.
    #[serde(default)]
    on_busy: WhenBusy,
    /// Whether the answer is streamed as server-sent events. Default: what `Accept` says.
    #[serde(default)]
    #[schema(nullable = false)]
    stream: Option<bool>,
}

/// What to do while a turn is in progress.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenBusy {
    /// Wait in order of arrival.
    #[default]
    Queue,
    /// Answer 409 `conversation_busy`.
    Reject,
}

impl JsonBody for ChatRequest {
    const SCHEMA: &'static str = "ChatRequest";
}

impl ChatRequest {
    /// Whether the answer is to be streamed; none when `Accept` decides.
    pub fn stream(&self) -> Option<bool> {
        self.stream
    }

    /// The conversation to go on with, if it names one that can be.
    pub fn conversation(&self) -> Option<ConversationId> {
        self.conversation_id.as_ref()?.parse().ok()
    }

    /// The command of the request that `request_id` names; ids that are none are of nothing.
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
