//! Conversations between an agent and a user.

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, ConversationId, InputFault, Timestamp, TurnId,
    config::{Metadata, check_metadata},
};

/// A conversation as clients receive it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Conversation {
    /// The conversation's id.
    pub id: ConversationId,
    /// The agent of the conversation.
    pub agent_id: AgentId,
    /// The user that the conversation belongs to.
    pub user_id: Option<String>,
    /// The title, for people.
    pub title: Option<String>,
    /// The client's own string pairs.
    #[cfg_attr(feature = "schema", schema(value_type = crate::config::MetadataSchema))]
    pub metadata: Metadata,
    /// 1, 2, 3 …: increases by one with every change of title or metadata.
    pub version: i64,
    /// The number of messages.
    pub message_count: i64,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last change, including new messages.
    pub updated_at: Timestamp,
    /// The time of the last message.
    pub last_message_at: Option<Timestamp>,
}

impl Conversation {
    /// Creates a conversation without messages.
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

    /// Returns the part of this conversation that a client can change.
    pub fn draft(&self) -> ConversationDraft {
        ConversationDraft {
            title: self.title.clone(),
            metadata: self.metadata.clone(),
        }
    }

    /// Returns the next version of this conversation, with the content of `draft`. Returns `None`
    /// if nothing changes.
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

/// The part of a conversation that a client can change: the document that a merge patch changes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConversationDraft {
    /// The title, for people. Default: none.
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
    /// The client's own string pairs. Default: none.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = crate::config::MetadataSchema))]
    pub metadata: Metadata,
}

impl ConversationDraft {
    /// Returns the faults that the schema cannot express.
    pub fn check(&self) -> Vec<InputFault> {
        let faults = check_metadata(&self.metadata);
        faults
            .into_iter()
            .map(|fault| fault.below("/metadata"))
            .collect()
    }
}

/// The part of a conversation that a chat needs before it computes a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationContext {
    /// The conversation's id.
    pub id: ConversationId,
    /// The agent of the conversation.
    pub agent_id: AgentId,
    /// The user that the conversation belongs to.
    pub user_id: Option<String>,
    /// The number of messages; also the `seq` of the last one.
    pub message_count: i64,
    /// The number of turns that have started.
    pub turn_count: i64,
    /// The turn in progress, if any.
    pub running_turn: Option<TurnId>,
}
