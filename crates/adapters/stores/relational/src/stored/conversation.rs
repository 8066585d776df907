//! A conversation as it is stored.

use domain::{
    AgentId, Conversation, ConversationId, ConversationState, ForkOrigin, Handover, MessageId,
    OpenTurn, SentMessage, Timestamp, TitleSource, TurnId, TurnStatus, UnknownMembers,
    config::Metadata,
};
use ports::RepositoryError;
use serde::Deserialize;
use sqlx::types::Json;
use uuid::Uuid;

use crate::column::{self, StoredTime};

/// The columns of a conversation `c`. `$open_turns` is a subquery that returns its open turns as
/// JSON, in their order: objects with `id`, `status` and `at`, the time of creation in milliseconds.
#[macro_export]
macro_rules! conversation_columns {
    ($open_turns:expr) => {
        concat!(
            "c.id, c.agent_id, c.user_id, c.key, c.title, c.title_source, c.metadata, c.context, c.version, \
             c.message_count - c.superseded_count as message_count, c.excerpt, c.forked_from, \
             c.handled_by, c.assignee, c.waiting_since, c.handover, c.sort_seq, c.created_at, \
             c.updated_at, c.last_message_at, ",
            $open_turns,
            " as open_turns"
        )
    };
}

/// A conversation as it is stored.
#[derive(sqlx::FromRow)]
pub struct StoredConversation {
    id: Uuid,
    agent_id: Uuid,
    user_id: Option<String>,
    key: Option<String>,
    title: Option<String>,
    title_source: Option<String>,
    metadata: Json<Metadata>,
    context: Option<String>,
    version: i64,
    message_count: i64,
    excerpt: Option<String>,
    open_turns: Option<Json<Vec<StoredOpenTurn>>>,
    forked_from: Option<Json<ForkOrigin>>,
    handled_by: Option<String>,
    assignee: Option<String>,
    waiting_since: Option<StoredTime>,
    handover: Option<Json<Handover>>,
    created_at: StoredTime,
    updated_at: StoredTime,
    last_message_at: Option<StoredTime>,
}

/// An open turn, as the subquery of [`conversation_columns!`] returns it.
#[derive(Deserialize)]
struct StoredOpenTurn {
    id: Uuid,
    status: TurnStatus,
    at: i64,
}

impl From<StoredOpenTurn> for OpenTurn {
    fn from(row: StoredOpenTurn) -> Self {
        Self {
            id: TurnId::new(row.id),
            status: row.status,
            created_at: Timestamp::from_milliseconds(row.at),
        }
    }
}

impl TryFrom<StoredConversation> for Conversation {
    type Error = RepositoryError;

    fn try_from(row: StoredConversation) -> Result<Self, RepositoryError> {
        let open_turns = row.open_turns.map_or_else(Vec::new, |turns| turns.0);
        let key = row.key.as_deref();
        // A title from before the column is by a person.
        let title_source = row.title_source.as_deref().map(TitleSource::read);
        Ok(Self {
            id: ConversationId::new(row.id),
            agent_id: AgentId::new(row.agent_id),
            user_id: row.user_id,
            key: key
                .map(|key| column::parse("conversations.key", key))
                .transpose()?,
            title_source: title_source.or(TitleSource::of_client(row.title.as_deref())),
            title: row.title,
            metadata: row.metadata.0,
            context: row.context,
            handled_by: column::handler(row.handled_by.as_deref()),
            assignee: row.assignee,
            waiting_since: row.waiting_since.map(|time| time.0),
            handover: row.handover.map(|handover| handover.0),
            version: row.version,
            message_count: row.message_count,
            // The only message may have been deleted.
            excerpt: row.excerpt.filter(|_| row.message_count > 0),
            open_turns: open_turns.into_iter().map(OpenTurn::from).collect(),
            forked_from: row.forked_from.map(|origin| origin.0),
            created_at: row.created_at.0,
            updated_at: row.updated_at.0,
            last_message_at: row.last_message_at.map(|time| time.0),
            matched: None,
            unknown: UnknownMembers::default(),
        })
    }
}

/// The part of a conversation that a chat needs, as it is stored.
#[derive(sqlx::FromRow)]
pub struct StoredState {
    id: Uuid,
    agent_id: Uuid,
    user_id: Option<String>,
    last_message_seq: i64,
    turn_count: i64,
    running_turn: Option<Uuid>,
    newest_message_id: Option<Uuid>,
    newest_client_message_id: Option<String>,
}

impl From<StoredState> for ConversationState {
    fn from(row: StoredState) -> Self {
        Self {
            id: ConversationId::new(row.id),
            agent_id: AgentId::new(row.agent_id),
            user_id: row.user_id,
            last_message_seq: row.last_message_seq,
            turn_count: row.turn_count,
            running_turn: row.running_turn.map(TurnId::new),
            newest_message: row.newest_message_id.map(|id| SentMessage {
                id: MessageId::new(id),
                client_id: row.newest_client_message_id,
            }),
        }
    }
}
