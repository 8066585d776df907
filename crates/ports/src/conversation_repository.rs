//! Conversations and their messages in a store.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    AgentId, AsOf, Conversation, ConversationHead, ConversationId, HistoryLimits, IdempotencyClaim,
    Listed, Message, Page, Seq, Stamp, TenantId, Utterance,
};

use crate::{Committed, Deletion, Once, RepositoryError};

/// Which conversations a listing shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConversationFilter {
    /// Those of this agent.
    pub agent_id: Option<AgentId>,
    /// Those of this user.
    pub user_id: Option<String>,
}

/// The last conversation of the page before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConversationPosition {
    /// Its place in the order.
    pub sort_seq: Seq,
    /// The conversation.
    pub id: ConversationId,
}

/// One page of a listing, latest activity first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationQuery {
    /// Which ones.
    pub filter: ConversationFilter,
    /// Begin after this one; from the start when absent.
    pub after: Option<ConversationPosition>,
    /// At most so many.
    pub limit: usize,
}

/// The order of a page of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageOrder {
    /// Oldest first.
    Ascending,
    /// Newest first.
    Descending,
}

/// One page of a conversation's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageQuery {
    /// In which order.
    pub order: MessageOrder,
    /// Begin after the message with this `seq`; from the start of the order when absent.
    pub after: Option<i64>,
    /// At most so many.
    pub limit: usize,
}

/// What an engine is shown of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Messages with a smaller `seq` only.
    pub before: i64,
    /// How much.
    pub limits: HistoryLimits,
}

/// Conversations in a store. Every method sees and touches the given tenant's only; a
/// conversation whose agent is deleted is gone in every method.
#[async_trait]
pub trait ConversationRepository: Send + Sync {
    /// Stores a new conversation, with its greeting as message 1 if there is one (then
    /// `conversation.message_count` is 1). MUST write `conversation.created` and the claim in the
    /// same transaction; MUST write nothing when the claim's key was used before; MUST answer
    /// `Done(None)` and write nothing when the agent does not exist.
    async fn insert(
        &self,
        tenant: &TenantId,
        conversation: &Conversation,
        greeting: Option<&Message>,
        stamp: &Stamp,
        claim: Option<&IdempotencyClaim>,
    ) -> Result<Once<Option<Committed>>, RepositoryError>;

    /// Finds a conversation, with a position of the log not later than the state it read.
    async fn find(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Conversation>>, RepositoryError>;

    /// Finds what a chat needs to know before it computes an answer.
    async fn find_head(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Arc<ConversationHead>>>, RepositoryError>;

    /// Lists conversations, latest activity first, in the order of the transactions that were the
    /// activity, whatever their times. A page MUST end at about `sizes::PAGE_BYTES`, with at least
    /// one conversation. MUST cost the same however many there are; one that becomes active
    /// while paging may be shown again, one that rested MUST NOT be skipped.
    async fn list(
        &self,
        tenant: &TenantId,
        query: &ConversationQuery,
    ) -> Result<AsOf<Page<Listed<Conversation>>>, RepositoryError>;

    /// Replaces title, metadata, version and `updated_at`, which MUST NOT move backwards. MUST write
    /// `conversation.updated` in the same transaction and leave the message count alone; MUST answer
    /// `Stale` and write
    /// nothing unless the stored version is `conversation.version - 1`; MUST answer `None` when
    /// it is gone. The answer carries the conversation as it is now.
    async fn update(
        &self,
        tenant: &TenantId,
        conversation: &Conversation,
        stamp: &Stamp,
    ) -> Result<Option<(Committed, Conversation)>, RepositoryError>;

    /// Deletes a conversation like an agent: constant cost, its turns cancelled first (a
    /// `turn.cancelled` each), `conversation.deleted` last. MUST answer `Stale` when `expected`
    /// differs from the stored version.
    async fn delete(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        expected: Option<i64>,
        stamp: &Stamp,
    ) -> Result<Deletion, RepositoryError>;

    /// Lists messages by `seq`. A page MUST end at about `sizes::PAGE_BYTES`, with at least one
    /// message, and MUST NOT read what it has no room for. MUST answer `None` when the conversation is gone.
    async fn messages(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &MessageQuery,
    ) -> Result<AsOf<Option<Page<Message>>>, RepositoryError>;

    /// Reads what an engine is shown: what was said in the newest whole messages that fit both
    /// limits, oldest first, without the messages of failed turns. MUST cost the same however long
    /// the conversation is. Empty when the conversation is gone.
    async fn history(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &HistoryQuery,
    ) -> Result<Vec<Utterance>, RepositoryError>;
}
