//! The messages of a history, and the turns with their tool calls, as they are stored.

use domain::{
    ConversationId, FileReference, HistoryMessage, Role, TurnId, TurnStatus,
    history::assembly::{MessageTurn, PastTurn, WindowMessage},
};
use ports::RepositoryError;
use sqlx::types::Json;
use uuid::Uuid;

use crate::column;

/// A row of [`HISTORY`](crate::repositories::MessageSql::HISTORY). All but the last two columns are null if
/// there is no message.
#[derive(sqlx::FromRow)]
pub struct StoredHistoryMessage {
    seq: Option<i64>,
    role: Option<String>,
    content: Option<String>,
    author: Option<String>,
    files: Option<Json<Vec<FileReference>>>,
    turn_id: Option<Uuid>,
    turn_conversation_id: Option<Uuid>,
    message_seq: Option<i64>,
    reply_seq: Option<i64>,
    pub(crate) sort_seq: Option<i64>,
    pub(crate) has_calls: bool,
    pub(crate) is_fork: bool,
}

impl StoredHistoryMessage {
    /// Converts the row. Returns `None` for that without a message, and for a message of an unknown role: an
    /// engine cannot tell what it is.
    pub(crate) fn into_message(self) -> Option<WindowMessage> {
        let role = Role::known(&self.role?)?;
        let seq = match role {
            Role::Agent => self.reply_seq,
            Role::User | Role::Other(_) => self.message_seq,
        };
        let turn = || {
            Some(MessageTurn {
                id: TurnId::new(self.turn_id?),
                conversation: ConversationId::new(self.turn_conversation_id?),
                message_seq: self.message_seq?,
                seq: seq?,
            })
        };
        let turn = turn();
        let (seq, content) = (self.seq?, self.content?);
        Some(WindowMessage {
            turn,
            message: HistoryMessage {
                files: self.files.map_or_else(Vec::new, |files| files.0),
                ..match self.author {
                    Some(name) => HistoryMessage::of_staff(seq, &name, &content),
                    None => HistoryMessage::new(seq, role, content),
                }
            },
        })
    }
}

/// A row of [`PAST_TURNS`](crate::repositories::MessageSql::PAST_TURNS).
#[derive(sqlx::FromRow)]
pub struct StoredPastTurn {
    id: Uuid,
    /// The conversation of the turn, and the position of the user's message there.
    conversation_id: Uuid,
    answered_seq: i64,
    /// The position of the user's message, or of its copy, in the conversation of the query.
    message_seq: i64,
    status: String,
    input: String,
    is_retried: bool,
    is_repeated: bool,
    has_same_agent: bool,
    journal: Option<String>,
}

impl StoredPastTurn {
    pub(crate) fn id(&self) -> TurnId {
        TurnId::new(self.id)
    }

    /// The conversation of the turn, and the position of the user's message there.
    pub(crate) fn exchange(&self) -> (ConversationId, i64) {
        (ConversationId::new(self.conversation_id), self.answered_seq)
    }

    pub(crate) fn into_turn(
        self,
        conversation: ConversationId,
    ) -> Result<PastTurn, RepositoryError> {
        let journal = self.journal.as_deref().unwrap_or("[]");
        Ok(PastTurn {
            id: TurnId::new(self.id),
            conversation,
            message_seq: self.message_seq,
            status: TurnStatus::known(&self.status).unwrap_or(TurnStatus::Completed),
            input: self.input,
            journal: serde_json::from_str(journal).map_err(column::corrupt("turn_steps.body"))?,
            is_retried: self.is_retried,
            is_repeated: self.is_repeated,
            has_same_agent: self.has_same_agent,
        })
    }
}
