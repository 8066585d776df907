//! A conversation as it is stored.

use domain::{AgentId, Conversation, ConversationContext, ConversationId, TurnId};
use ports::RepositoryError;
use uuid::Uuid;

use crate::row;

/// The condition that neither conversation `c` nor its agent is deleted.
macro_rules! visible {
    () => {
        "c.deleted_at is null and exists (select 1 from agents a \
         where a.tenant_id = c.tenant_id and a.id = c.agent_id and a.deleted_at is null)"
    };
}
pub(crate) use visible;

/// The columns of a conversation `c`.
macro_rules! conversation_columns {
    () => {
        "c.id, c.agent_id, c.user_id, c.title, c.metadata, c.version, c.message_count, \
         c.created_at, c.updated_at, c.last_message_at"
    };
}

pub(crate) use conversation_columns;

/// A conversation as it is stored.
#[derive(sqlx::FromRow)]
pub(crate) struct ConversationRow {
    id: Uuid,
    agent_id: Uuid,
    user_id: Option<String>,
    title: Option<String>,
    metadata: String,
    version: i64,
    message_count: i64,
    created_at: i64,
    updated_at: i64,
    last_message_at: Option<i64>,
}

impl TryFrom<ConversationRow> for Conversation {
    type Error = RepositoryError;

    fn try_from(row: ConversationRow) -> Result<Self, RepositoryError> {
        Ok(Self {
            id: ConversationId::new(row.id),
            agent_id: AgentId::new(row.agent_id),
            user_id: row.user_id,
            title: row.title,
            metadata: row::from_json("conversations.metadata", &row.metadata)?,
            version: row.version,
            message_count: row.message_count,
            created_at: row::time(row.created_at),
            updated_at: row::time(row.updated_at),
            last_message_at: row.last_message_at.map(row::time),
        })
    }
}

/// The part of a conversation that a chat needs, as it is stored.
#[derive(sqlx::FromRow)]
pub(crate) struct ContextRow {
    id: Uuid,
    agent_id: Uuid,
    user_id: Option<String>,
    message_count: i64,
    turn_count: i64,
    running_turn: Option<Uuid>,
}

impl From<ContextRow> for ConversationContext {
    fn from(row: ContextRow) -> Self {
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
