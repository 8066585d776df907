//! A cache of conversation heads.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    AsOf, Conversation, ConversationContext, ConversationId, HistoryMessage, IdempotencyEntry,
    Listed, Message, Page, Seq, Stamp, TenantId,
};
use ports::{
    Clock, Committed, ConversationQuery, ConversationRepository, Deletion, HistoryQuery,
    Idempotent, MessageQuery, RepositoryError,
};

use super::Caches;

/// A [`ConversationRepository`] that caches the results of `find_context`.
pub struct CachedConversations {
    inner: Arc<dyn ConversationRepository>,
    caches: Caches,
    clock: Arc<dyn Clock>,
}

impl CachedConversations {
    /// Creates a cache in front of `inner`.
    pub fn new(
        inner: Arc<dyn ConversationRepository>,
        caches: Caches,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            inner,
            caches,
            clock,
        }
    }
}

#[async_trait]
impl ConversationRepository for CachedConversations {
    async fn insert(
        &self,
        tenant: &TenantId,
        conversation: &Conversation,
        greeting: Option<&Message>,
        stamp: &Stamp,
        claim: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<Option<Committed>>, RepositoryError> {
        let outcome = self
            .inner
            .insert(tenant, conversation, greeting, stamp, claim)
            .await?;
        if let Idempotent::Applied(Some(committed)) = &outcome {
            let head = ConversationContext {
                id: conversation.id,
                agent_id: conversation.agent_id,
                user_id: conversation.user_id.clone(),
                message_count: conversation.message_count,
                turn_count: 0,
                running_turn: None,
            };
            let key = (tenant.clone(), conversation.id);
            self.caches
                .heads
                .replace(key, Arc::new(head), committed.last);
            self.caches.applied.note(tenant, *committed);
        }
        Ok(outcome)
    }

    async fn find(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Conversation>>, RepositoryError> {
        self.inner.find(tenant, id).await
    }

    async fn find_context(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Arc<ConversationContext>>>, RepositoryError> {
        let key = (tenant.clone(), id);
        // The position is read first: a change between the two reads may be delivered twice, but
        // never lost.
        let applied = self.caches.applied.position(tenant).unwrap_or(Seq(0));
        if self.caches.applied.is_trusted(self.clock.running_for())
            && let Some((head, entry_position)) = self.caches.heads.get(&key)
        {
            let position = applied.max(entry_position);
            return Ok(AsOf {
                value: Some(head),
                position,
            });
        }
        let ticket = self.caches.heads.begin_load(&key);
        let found = self.inner.find_context(tenant, id).await?;
        if let Some(head) = &found.value
            && self.caches.applied.follow(tenant, found.position)
        {
            self.caches
                .heads
                .fill(ticket, key, Arc::clone(head), found.position);
        }
        Ok(found)
    }

    async fn list(
        &self,
        tenant: &TenantId,
        query: &ConversationQuery,
    ) -> Result<AsOf<Page<Listed<Conversation>>>, RepositoryError> {
        self.inner.list(tenant, query).await
    }

    async fn update(
        &self,
        tenant: &TenantId,
        conversation: &Conversation,
        stamp: &Stamp,
    ) -> Result<Option<(Committed, Conversation)>, RepositoryError> {
        // The title and the metadata are not part of a head.
        let outcome = self.inner.update(tenant, conversation, stamp).await?;
        if let Some((committed, _)) = &outcome {
            self.caches.applied.note(tenant, *committed);
        }
        Ok(outcome)
    }

    async fn delete(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        expected: Option<i64>,
        stamp: &Stamp,
    ) -> Result<Deletion, RepositoryError> {
        let outcome = self.inner.delete(tenant, id, expected, stamp).await;
        self.caches.heads.remove(&(tenant.clone(), id));
        if let Ok(Deletion::Deleted(committed)) = &outcome {
            self.caches.live.stop_of_conversation(tenant, id);
            self.caches.applied.note(tenant, *committed);
        }
        outcome
    }

    async fn messages(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &MessageQuery,
    ) -> Result<AsOf<Option<Page<Message>>>, RepositoryError> {
        self.inner.messages(tenant, id, query).await
    }

    async fn history(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &HistoryQuery,
    ) -> Result<Vec<HistoryMessage>, RepositoryError> {
        self.inner.history(tenant, id, query).await
    }
}
