//! Ratings as they are stored.

use domain::{
    AgentId, ConversationId, Feedback, MessageId, PrincipalId, RatedMessage, Rating, Seq, TenantId,
    Timestamp,
};
use ports::{
    RepositoryError,
    write_store::{FeedbackKey, InTenant},
};
use serde::Deserialize;
use uuid::Uuid;

use crate::column::{self, StoredTime};

/// The columns of a rating `f` in conversation `c`.
#[macro_export]
macro_rules! feedback_columns {
    () => {
        "f.conversation_id, f.message_seq, f.principal, f.rating, f.comment, f.updated_at, \
         c.user_id as owner"
    };
}

/// A rating with its key, as it is stored.
#[derive(sqlx::FromRow)]
pub struct StoredFeedback {
    conversation_id: Uuid,
    message_seq: i64,
    principal: String,
    rating: String,
    comment: Option<String>,
    updated_at: StoredTime,
    owner: Option<String>,
}

impl StoredFeedback {
    fn key(&self) -> FeedbackKey {
        FeedbackKey {
            conversation_id: ConversationId::new(self.conversation_id),
            message_seq: self.message_seq,
            principal: principal(&self.principal),
        }
    }
}

impl From<StoredFeedback> for Feedback {
    fn from(row: StoredFeedback) -> Self {
        let principal = principal(&row.principal);
        Self {
            user_id: row.owner.filter(|_| principal.is_none()),
            principal,
            rating: Rating::read(&row.rating),
            comment: row.comment,
            updated_at: row.updated_at.0,
        }
    }
}

impl From<StoredFeedback> for (FeedbackKey, Feedback) {
    fn from(row: StoredFeedback) -> Self {
        (row.key(), row.into())
    }
}

/// A rating of a message of a listing: an element of the JSON array `feedback`, with the time in
/// milliseconds.
#[derive(Deserialize)]
pub(super) struct StoredRating {
    principal: String,
    rating: Rating,
    comment: Option<String>,
    at: i64,
}

impl StoredRating {
    pub(super) fn into_feedback(self, owner: Option<&str>) -> Feedback {
        let principal = principal(&self.principal);
        Feedback {
            user_id: owner.filter(|_| principal.is_none()).map(str::to_owned),
            principal,
            rating: self.rating,
            comment: self.comment,
            updated_at: Timestamp::from_milliseconds(self.at),
        }
    }
}

/// A rating of a listing, as it is stored, with what was rated.
#[derive(sqlx::FromRow)]
pub struct StoredListedFeedback {
    #[sqlx(flatten)]
    feedback: StoredFeedback,
    message_id: Option<Uuid>,
    agent_id: Option<Uuid>,
    agent_version: Option<i64>,
    sort_seq: i64,
    is_match: bool,
    is_last: bool,
}

impl StoredListedFeedback {
    /// The position in listings.
    pub(crate) const fn sort_seq(&self) -> Seq {
        Seq(self.sort_seq)
    }

    /// Returns whether no further rating was looked at, although more may follow.
    pub(crate) const fn is_last(&self) -> bool {
        self.is_last
    }

    /// Converts the row, if it passes the filters.
    pub(crate) fn into_rated(self) -> Option<RatedMessage> {
        let (message, agent) = self.message_id.zip(self.agent_id)?;
        self.is_match.then(|| RatedMessage {
            conversation_id: ConversationId::new(self.feedback.conversation_id),
            message_id: MessageId::new(message),
            agent_id: AgentId::new(agent),
            agent_version: self.agent_version,
            feedback: self.feedback.into(),
        })
    }
}

/// A message that exists, and its rating by one principal, if it has one.
#[derive(sqlx::FromRow)]
pub struct StoredMessageFeedback {
    tenant_id: String,
    conversation_id: Uuid,
    message_seq: i64,
    principal: String,
    rating: Option<String>,
    comment: Option<String>,
    updated_at: Option<StoredTime>,
    owner: Option<String>,
}

impl TryFrom<StoredMessageFeedback> for (InTenant<FeedbackKey>, Option<Feedback>) {
    type Error = RepositoryError;

    fn try_from(row: StoredMessageFeedback) -> Result<Self, RepositoryError> {
        let tenant: TenantId = column::parse("feedback.tenant_id", &row.tenant_id)?;
        let key = FeedbackKey {
            conversation_id: ConversationId::new(row.conversation_id),
            message_seq: row.message_seq,
            principal: principal(&row.principal),
        };
        let stored = row.rating.zip(row.updated_at);
        let feedback = stored.map(|(rating, updated_at)| {
            Feedback::from(StoredFeedback {
                conversation_id: row.conversation_id,
                message_seq: row.message_seq,
                principal: row.principal,
                rating,
                comment: row.comment,
                updated_at,
                owner: row.owner,
            })
        });
        Ok(((tenant, key), feedback))
    }
}

/// Returns the column `principal` of a rating.
pub fn principal_column(key: &FeedbackKey) -> &str {
    key.principal.as_ref().map_or("", PrincipalId::as_str)
}

/// Reads the column `principal`, which is empty for the user of the conversation.
fn principal(stored: &str) -> Option<PrincipalId> {
    (!stored.is_empty()).then(|| PrincipalId::new(stored))
}
