//! A message as it is stored.

use domain::{
    Author, ConversationId, FileReference, FinishReason, Message, MessageError, MessageId, Problem,
    Role, ToolCall, TurnId, TurnStatus, Usage,
};
use sqlx::types::Json;
use uuid::Uuid;

use super::feedback::StoredRating;
use crate::column::{self, StoredTime};

/// The columns of a message `m`.
#[macro_export]
macro_rules! message_columns {
    () => {
        "m.id, m.conversation_id, m.turn_id, m.seq, m.role, m.content, m.files, m.created_at, m.author, \
         m.client_message_id as own_client_message_id, m.engine, m.agent_version, m.finish_reason, \
         m.input_tokens, m.output_tokens, m.repaired, m.model, m.superseded_at"
    };
}

/// The columns of the joined turn `r` of a message of a listing.
#[macro_export]
macro_rules! message_turn_columns {
    () => {
        concat!(
            $crate::turn_status!("r"),
            " as turn_status, r.error as turn_error, r.client_message_id, r.tool_calls, \
             r.usage as turn_usage, r.action_expires_at, r.conversation_id as turn_conversation_id"
        )
    };
}

/// A message as it is stored, also as the part of a joined row.
#[derive(sqlx::FromRow)]
pub struct StoredMessage {
    pub(super) id: Uuid,
    pub(super) conversation_id: Uuid,
    pub(super) turn_id: Option<Uuid>,
    pub(super) seq: i64,
    pub(super) role: String,
    pub(super) content: String,
    pub(super) files: Option<Json<Vec<FileReference>>>,
    pub(super) created_at: StoredTime,
    pub(super) author: Option<Json<Author>>,
    pub(super) own_client_message_id: Option<String>,
    pub(super) engine: Option<String>,
    pub(super) model: Option<String>,
    pub(super) agent_version: Option<i64>,
    pub(super) finish_reason: Option<String>,
    pub(super) input_tokens: Option<i64>,
    pub(super) output_tokens: Option<i64>,
    /// Set if the content is JSON that satisfies a schema.
    pub(super) repaired: Option<bool>,
    pub(super) superseded_at: Option<StoredTime>,
}

impl From<StoredMessage> for Message {
    fn from(row: StoredMessage) -> Self {
        let place = (ConversationId::new(row.conversation_id), row.seq);
        let (role, at) = (Role::read(&row.role), row.created_at.0);
        Self {
            turn_id: row.turn_id.map(TurnId::new),
            files: row.files.map_or_else(Vec::new, |files| files.0),
            author: row.author.map(|author| author.0),
            client_message_id: row.own_client_message_id,
            engine: row.engine,
            model: row.model,
            agent_version: row.agent_version,
            finish_reason: row.finish_reason.as_deref().map(FinishReason::read),
            output: row
                .repaired
                .and_then(|_| serde_json::from_str(&row.content).ok()),
            repaired: row.repaired == Some(true),
            usage: column::usage(row.input_tokens, row.output_tokens),
            superseded_at: row.superseded_at.map(|time| time.0),
            ..Self::new(place, MessageId::new(row.id), role, row.content, at)
        }
    }
}

/// A message of a listing as it is stored, with the state of its turn.
#[derive(sqlx::FromRow)]
pub struct StoredListedMessage {
    #[sqlx(flatten)]
    message: StoredMessage,
    turn_status: Option<String>,
    turn_error: Option<Json<Problem>>,
    client_message_id: Option<String>,
    tool_calls: Option<Json<Vec<ToolCall>>>,
    turn_usage: Option<Json<Usage>>,
    action_expires_at: Option<StoredTime>,
    turn_conversation_id: Option<Uuid>,
    /// Only in listings of conversations with ratings.
    #[sqlx(default)]
    feedback: Option<Json<Vec<StoredRating>>>,
    #[sqlx(default)]
    owner: Option<String>,
}

/// A message that is found by its id.
#[derive(sqlx::FromRow)]
pub struct StoredFoundMessage {
    /// The message.
    #[sqlx(flatten)]
    pub message: StoredListedMessage,
    /// The number of messages before it that are not superseded.
    pub before: i64,
    /// The `seq` of the last of them.
    pub previous: Option<i64>,
    /// The number of messages of staff before it.
    pub of_staff: i64,
    /// The `seq` of the last message of the conversation.
    pub last_seq: i64,
    /// The number of messages of the conversation that are superseded or deleted.
    pub superseded_count: i64,
}

impl From<StoredListedMessage> for Message {
    fn from(row: StoredListedMessage) -> Self {
        let turn_conversation = row.turn_conversation_id.map(ConversationId::new);
        let message = Self::from(row.message);
        // A copy in a fork does not follow the open turn of the original: nobody can answer it there.
        let is_copy = turn_conversation.is_some_and(|id| id != message.conversation_id);
        let status = row.turn_status.as_deref().map(TurnStatus::read);
        let status = status.filter(|status| status.is_final() || !is_copy);
        if message.role == Role::Agent {
            let ratings = row.feedback.into_iter().flat_map(|ratings| ratings.0);
            return Self {
                turn_status: status.filter(|status| !status.is_final()),
                tool_calls: column::tool_calls(
                    row.tool_calls,
                    status.unwrap_or(TurnStatus::Completed),
                    row.action_expires_at.is_some() && status.is_some(),
                ),
                usage: row.turn_usage.map(|usage| usage.0).or(message.usage),
                feedback: ratings
                    .map(|rating| rating.into_feedback(row.owner.as_deref()))
                    .collect(),
                ..message
            };
        }
        let error = row.turn_error.map(|error| error.0);
        Self {
            client_message_id: row.client_message_id.or(message.client_message_id),
            turn_status: status,
            error: status.and_then(|status| MessageError::of_turn(status, error.as_ref())),
            ..message
        }
    }
}
