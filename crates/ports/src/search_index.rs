//! An index of the words in conversations.

use async_trait::async_trait;
use domain::{
    ConversationId, TenantId,
    search::{SearchPhrases, SearchScope},
};

use crate::{FollowerPosition, FollowerStep, RepositoryError};

/// The name of the follower that keeps the index, under which its positions are stored.
pub const SEARCH_FOLLOWER: &str = "search";

/// The position of the title of a conversation among its messages, which begin with 1.
pub const TITLE_SEQ: i64 = 0;

/// A text that can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchEntry {
    /// The conversation of the text.
    pub conversation_id: ConversationId,
    /// The `seq` of the message, or [`TITLE_SEQ`].
    pub message_seq: i64,
    /// The sort key of results: larger for newer texts. Several entries may have the same.
    pub order: i64,
    /// The scopes in which it is found.
    pub scopes: Vec<SearchScope>,
    /// The words, separated by spaces.
    pub words: String,
}

/// Messages that are no longer found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemovedMessages {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The `seq` of the first one.
    pub from_seq: i64,
    /// The `seq` of the last one.
    pub to_seq: i64,
}

/// Entries that are removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemovedEntries {
    /// Those of a conversation.
    Conversation(ConversationId),
    /// Those of a scope.
    Scope(SearchScope),
}

/// The position of an entry in the order of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchPosition {
    /// The order of the entry.
    pub order: i64,
    /// Its conversation.
    pub conversation_id: ConversationId,
}

/// A search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    /// The scopes in which entries are searched: at least one of each list.
    pub scopes: Vec<Vec<SearchScope>>,
    /// The phrases, all of which an entry contains.
    pub phrases: SearchPhrases,
    /// Only entries after this position.
    pub after: Option<SearchPosition>,
    /// The maximum number of entries.
    pub limit: usize,
}

/// An entry that a search has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchMatch {
    /// The position in the order of results.
    pub position: SearchPosition,
    /// The `seq` of the message, or [`TITLE_SEQ`].
    pub message_seq: i64,
    /// True if the same search finds the conversation at or before the position that it continues from.
    pub is_repeated: bool,
}

/// An index of the words in conversations. A follower keeps it, so it may lag behind the conversations.
#[async_trait]
pub trait SearchIndex: Send + Sync {
    /// Returns the positions up to which the logs of all tenants are indexed.
    async fn positions(&self) -> Result<Vec<(TenantId, FollowerPosition)>, RepositoryError>;

    /// Returns the position up to which the log of a tenant is indexed; `None` before the first.
    async fn position(
        &self,
        tenant: &TenantId,
    ) -> Result<Option<FollowerPosition>, RepositoryError>;

    /// Removes messages, then stores entries, at most one for each message, in place of those with the same message, and
    /// moves the position, in one transaction. Does nothing and returns `false` if the position is not the one before the step. MUST NOT
    /// wait for the lock of the tenant.
    async fn apply(
        &self,
        step: &FollowerStep,
        removed: &[RemovedMessages],
        entries: &[SearchEntry],
    ) -> Result<bool, RepositoryError>;

    /// Removes at most `limit` entries, and returns their number.
    async fn remove(
        &self,
        tenant: &TenantId,
        entries: &RemovedEntries,
        limit: usize,
    ) -> Result<u64, RepositoryError>;

    /// Finds entries of a tenant, newest first; of equal ones those of the greatest conversation id. MUST find all
    /// that contain the phrases; MAY find others that contain all of their words.
    async fn find(
        &self,
        tenant: &TenantId,
        query: &SearchQuery,
    ) -> Result<Vec<SearchMatch>, RepositoryError>;
}
