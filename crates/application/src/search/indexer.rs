//! The follower that keeps the index.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{Conversation, ConversationId, Seq, TenantId, search::SearchScope};
use ports::{
    ConversationConditions, ConversationFilter, ConversationPosition, ConversationRepository,
    ConversationScan, FollowerPosition, FollowerStep, ListingOrder, LoggedEvent, MessageQuery,
    RemovedEntries, RemovedMessages, RepositoryError, SEARCH_FOLLOWER, ScanOrder, SearchEntry,
    SearchIndex, TITLE_SEQ,
};
use uuid::Uuid;

use super::changes::{Changes, message_entry, scopes, title_entry};
use crate::followers::FollowerWork;

/// The number of conversations that one step of the backfill reads.
const BACKFILLED_CONVERSATIONS: usize = 20;
/// The number of messages that are read and stored together.
const MESSAGES: usize = 100;
/// The maximum number of entries that one transaction removes.
const REMOVED: usize = 500;

/// The follower that keeps the index of the words in conversations.
pub struct SearchIndexer {
    index: Arc<dyn SearchIndex>,
    conversations: Arc<dyn ConversationRepository>,
}

impl SearchIndexer {
    /// Creates the follower. `conversations` must not be cached.
    pub fn new(
        index: Arc<dyn SearchIndex>,
        conversations: Arc<dyn ConversationRepository>,
    ) -> Self {
        Self {
            index,
            conversations,
        }
    }

    /// Removes entries, in short transactions.
    async fn remove_all(
        &self,
        tenant: &TenantId,
        entries: &RemovedEntries,
    ) -> Result<(), RepositoryError> {
        while self.index.remove(tenant, entries, REMOVED).await? == REMOVED as u64 {}
        Ok(())
    }

    /// Indexes a conversation anew, if it exists. Returns whether the position is still `at`.
    async fn read_again(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        at: FollowerPosition,
    ) -> Result<bool, RepositoryError> {
        match self.conversations.find(tenant, id).await?.value {
            Some(found) => self.index_whole(tenant, &found.item, at).await,
            None => Ok(true),
        }
    }

    /// Reads the messages of a conversation, and stores its entries in place of all that it had. Returns whether the
    /// position is still `at`.
    async fn index_whole(
        &self,
        tenant: &TenantId,
        conversation: &Conversation,
        at: FollowerPosition,
    ) -> Result<bool, RepositoryError> {
        let step = FollowerStep::new(tenant, Some(at), at);
        let (id, user) = (conversation.id, conversation.user_id.as_deref());
        let scopes = || scopes(tenant, conversation.agent_id, user);
        let mut entries: Vec<SearchEntry> =
            title_entry(conversation, scopes()).into_iter().collect();
        let mut removed = vec![RemovedMessages {
            conversation_id: id,
            from_seq: TITLE_SEQ,
            to_seq: i64::MAX,
        }];
        let mut after = None;
        loop {
            let query = MessageQuery {
                order: ListingOrder::Ascending,
                after,
                limit: MESSAGES,
                with_superseded: false,
            };
            let page = self.conversations.messages(tenant, id, &query).await?;
            let Some(page) = page.value else {
                return Ok(true);
            };
            entries.extend(page.items.iter().map(|it| message_entry(it, scopes())));
            if !self.index.apply(&step, &removed, &entries).await? {
                return Ok(false);
            }
            if !page.has_more {
                return Ok(true);
            }
            after = page.items.last().map(|last| last.seq);
            entries.clear();
            removed.clear();
        }
    }
}

#[async_trait]
impl FollowerWork for SearchIndexer {
    fn name(&self) -> &'static str {
        SEARCH_FOLLOWER
    }

    async fn positions(&self) -> Result<Vec<(TenantId, FollowerPosition)>, RepositoryError> {
        self.index.positions().await
    }

    async fn begin(
        &self,
        tenant: &TenantId,
        from: Option<FollowerPosition>,
        head: Seq,
    ) -> Result<Option<FollowerPosition>, RepositoryError> {
        let all = RemovedEntries::Scope(SearchScope::tenant(tenant));
        self.remove_all(tenant, &all).await?;
        let to = FollowerPosition {
            backfilled_to: Some(ConversationId::new(Uuid::nil())),
            ..FollowerPosition::at(head)
        };
        let step = FollowerStep::new(tenant, from, to);
        let begun = self.index.apply(&step, &[], &[]).await?;
        Ok(begun.then_some(to))
    }

    async fn apply(
        &self,
        step: &FollowerStep,
        events: &[LoggedEvent],
    ) -> Result<bool, RepositoryError> {
        let changes = Changes::of(&step.tenant, events);
        for entries in &changes.deleted {
            self.remove_all(&step.tenant, entries).await?;
        }
        if let Some(at) = step.from {
            for id in &changes.to_read {
                if !self.read_again(&step.tenant, *id, at).await? {
                    return Ok(false);
                }
            }
        }
        let entries: Vec<_> = changes.entries.into_values().collect();
        self.index.apply(step, &changes.removed, &entries).await
    }

    async fn backfill(
        &self,
        tenant: &TenantId,
        from: FollowerPosition,
    ) -> Result<Option<FollowerPosition>, RepositoryError> {
        let Some(after) = from.backfilled_to else {
            return Ok(Some(from));
        };
        let scan = ConversationScan {
            filter: ConversationFilter::default(),
            conditions: ConversationConditions::default(),
            order: ScanOrder::Id,
            after: Some(ConversationPosition { key: 0, id: after }),
            limit: BACKFILLED_CONVERSATIONS,
        };
        let page = self.conversations.scan(tenant, &scan).await?.value;
        for found in &page.items {
            if !self.index_whole(tenant, &found.item, from).await? {
                return Ok(None);
            }
        }
        let to = FollowerPosition {
            backfilled_to: page.next.map(|next| next.id),
            ..from
        };
        let step = FollowerStep::new(tenant, Some(from), to);
        let is_moved = self.index.apply(&step, &[], &[]).await?;
        Ok(is_moved.then_some(to))
    }
}
