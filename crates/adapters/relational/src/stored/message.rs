//! A message as it is stored.

use domain::{ConversationId, Message, MessageId, TurnId};
use ports::RepositoryError;
use uuid::Uuid;

use crate::column::{self, StoredTime};

/// The columns of a message `m`.
#[macro_export]
macro_rules! message_columns {
    () => {
        "m.id, m.conversation_id, m.turn_id, m.seq, m.role, m.content, m.created_at, m.engine, \
         m.agent_version, m.finish_reason, m.input_tokens, m.output_tokens"
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
    pub(super) created_at: StoredTime,
    pub(super) engine: Option<String>,
    pub(super) agent_version: Option<i64>,
    pub(super) finish_reason: Option<String>,
    pub(super) input_tokens: Option<i64>,
    pub(super) output_tokens: Option<i64>,
}

impl TryFrom<StoredMessage> for Message {
    type Error = RepositoryError;

    fn try_from(row: StoredMessage) -> Result<Self, RepositoryError> {
        Ok(Self {
            id: MessageId::new(row.id),
            conversation_id: ConversationId::new(row.conversation_id),
            turn_id: row.turn_id.map(TurnId::new),
            seq: row.seq,
            role: column::role(&row.role)?,
            content: row.content,
            created_at: row.created_at.0,
            engine: row.engine,
            agent_version: row.agent_version,
            finish_reason: column::finish_reason(row.finish_reason.as_deref())?,
            usage: column::usage(row.input_tokens, row.output_tokens),
        })
    }
}
