//! Ratings of messages.

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, ConversationId, MessageId, PrincipalId, Timestamp, open_enum::open_enum,
    text::is_blank,
};

open_enum! {
    /// A judgement of a message.
    Rating[15] {
        /// It is good.
        Up = "up",
        /// It is not.
        Down = "down",
    }
}

/// A rating of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Feedback {
    /// The user of the conversation, if it has rated; null if another principal has.
    pub user_id: Option<String>,
    /// The principal that has rated. Absent if that is the user of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub principal: Option<PrincipalId>,
    /// `up` or `down`.
    pub rating: Rating,
    /// The reason; null without one.
    pub comment: Option<String>,
    /// The time of the last change.
    pub updated_at: Timestamp,
}

impl Feedback {
    /// Returns whether users see it: the one of the user of the conversation.
    pub const fn is_of_user(&self) -> bool {
        self.principal.is_none()
    }
}

/// A rating that is to be stored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FeedbackDraft {
    /// `up` or `down`.
    pub rating: Rating,
    /// The reason. Default: none.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(max_length = 2000, pattern = r"^[^\x00]*$"))]
    pub comment: Option<String>,
    /// The user of the conversation, if a key or a client rates for it.
    #[serde(default)]
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 320,
            pattern = r"^[^\x00-\x1f\x7f-\x9f]*$"
        )
    )]
    pub user_id: Option<String>,
}

impl FeedbackDraft {
    /// Returns the comment, unless it is blank.
    pub fn comment(&self) -> Option<&str> {
        let comment = self.comment.as_deref();
        comment.filter(|comment| !is_blank(comment))
    }
}

/// A rating in a listing, with what was rated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RatedMessage {
    /// The conversation of the message.
    pub conversation_id: ConversationId,
    /// The message.
    pub message_id: MessageId,
    /// The agent of the conversation.
    pub agent_id: AgentId,
    /// The version of the agent that replied; null for greetings and messages of staff.
    pub agent_version: Option<i64>,
    /// The rating.
    #[serde(flatten)]
    pub feedback: Feedback,
}
