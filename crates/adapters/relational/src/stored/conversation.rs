//! A conversation as it is stored.

use domain::{
    AgentId, Conversation, ConversationContext, ConversationId, TurnId, config::Metadata,
};
use sqlx::types::Json;
use uuid::Uuid;

use crate::column::StoredTime;

/// The columns of a conversation `c`.
#[macro_export]
macro_rules! conversation_columns {
    () => {
        "c.id, c.agent_id, c.user_id, c.title, c.metadata, c.version, c.message_count, \
         c.created_at, c.updated_at, c.last_message_at"
    };
}

/// A conversation as it is stored.
#[derive(sqlx::FromRow)]
pub struct StoredConversation {
    id: Uuid,
    agent_id: Uuid,
    user_id: Option<String>,
    title: Option<String>,
    metadata: Json<Metadata>,
    version: i64,
    message_count: i64,
    created_at: StoredTime,
    updated_at: StoredTime,
    last_message_at: Option<StoredTime>,
}

impl From<StoredConversation> for Conversation {
    fn from(row: StoredConversation) -> Self {
        Self {
            id: ConversationId::new(row.id),
            agent_id: AgentId::new(row.agent_id),
            user_id: row.user_id,
            title: row.title,
            metadata: row.metadata.0,
            version: row.version,
            message_count: row.message_count,
            created_at: row.created_at.0,
            updated_at: row.updated_at.0,
            last_message_at: row.last_message_at.map(|time| time.0),
        }
    }
}

/// The part of a conversation that a chat needs, as it is stored.
#[derive(sqlx::FromRow)]
pub struct StoredContext {
    id: Uuid,
    agent_id: Uuid,
    user_id: Option<String>,
    message_count: i64,
    turn_count: i64,
    running_turn: Option<Uuid>,
}

impl From<StoredContext> for ConversationContext {
    fn from(row: StoredContext) -> Self {
        Self {
            id: ConversationId::new(row.id),
            agent_id: AgentId::new(row.agent_id),
            user_id: row.user_id,
            message_count: row.message_count,
            turn_count: row.turn_count,
            running_turn: row.running_turn.map(TurnId::new),
        }
    }
}
