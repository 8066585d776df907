//! Conversations: a talk with one agent.

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, ConversationId, Fault, Timestamp, TurnId,
    config::{Metadata, check_metadata},
};

/// A conversation as clients read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Conversation {
    /// Names the conversation.
    pub id: ConversationId,
    /// The agent that answers in it.
    pub agent_id: AgentId,
    /// The person it belongs to.
    pub user_id: Option<String>,
    /// What people call it.
    pub title: Option<String>,
    /// String pairs of the client's own.
    #[cfg_attr(feature = "schema", schema(value_type = crate::config::MetadataSchema))]
    pub metadata: Metadata,
    /// 1, 2, 3 …: one more with every change of title or metadata.
    pub version: i64,
    /// Messages so far.
    pub message_count: i64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When anything of it last changed, messages included.
    pub updated_at: Timestamp,
    /// When the last message was written.
    pub last_message_at: Option<Timestamp>,
}

impl Conversation {
    /// A conversation in which nothing was said yet.
    pub fn empty(id: ConversationId, agent_id: AgentId, now: Timestamp) -> Self {
        Self {
            id,
            agent_id,
            user_id: None,
            title: None,
            metadata: Metadata::new(),
            version: 1,
            message_count: 0,
            created_at: now,
            updated_at: now,
            last_message_at: None,
        }
    }

    /// What a client may change of it.
    pub fn draft(&self) -> ConversationDraft {
        ConversationDraft {
            title: self.title.clone(),
            metadata: self.metadata.clone(),
        }
    }

    /// This conversation with `draft` in place; `None` when that changes nothing.
    pub fn changed_to(&self, draft: ConversationDraft, now: Timestamp) -> Option<Self> {
        if self.draft() == draft {
            return None;
        }
        Some(Self {
            title: draft.title,
            metadata: draft.metadata,
            version: self.version + 1,
            updated_at: now.max(self.updated_at),
            ..self.clone()
        })
    }
}

/// What a client may change of a conversation: the document that a merge patch works on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConversationDraft {
    /// What people call it. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(
            max_length = 200,
            pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$",
            nullable = false
        )
    )]
    pub title: Option<String>,
    /// String pairs of the client's own. Default: none.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = crate::config::MetadataSchema))]
    pub metadata: Metadata,
}

impl ConversationDraft {
    /// What the schema cannot say.
    pub fn check(&self) -> Vec<Fault> {
        let faults = check_metadata(&self.metadata);
        faults
            .into_iter()
            .map(|fault| fault.below("/metadata"))
            .collect()
    }
}

/// What a chat needs to know of its conversation before it computes an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationHead {
    /// The conversation.
    pub id: ConversationId,
    /// The agent that answers in it.
    pub agent_id: AgentId,
    /// The person it belongs to.
    pub user_id: Option<String>,
    /// Messages so far; also the `seq` of the last one.
    pub message_count: i64,
    /// Turns that have started so far.
    pub turn_count: i64,
    /// The turn in progress, if any.
    pub running_turn: Option<TurnId>,
}
