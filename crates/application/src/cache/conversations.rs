//! A cache of conversation contexts and names.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    AsOf, Conversation, ConversationContext, ConversationId, HistoryMessage, IdempotencyEntry,
    Listed, Message, Page, Seq, Stamp, TenantId,
};
use ports::{
    Clock, Committed, ConversationName, ConversationQuery, ConversationRepository, DeleteOutcome,
    FirstMessages, FoundMessage, HistoryQuery, Idempotent, MessageQuery, MessageReference,
    RepositoryError,
};

use super::Caches;

/// A [`ConversationRepository`] that caches the results of `find_context` and `find_by_name`.
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
        first_messages: &FirstMessages,
        stamp: &Stamp,
        entry: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<Option<Committed>>, RepositoryError> {
        let outcome = self
            .inner
            .insert(tenant, conversation, first_messages, stamp, entry)
            .await;
        if let (Err(RepositoryError::Stale { .. }), FirstMessages::Forked(copied)) =
            (&outcome, first_messages)
        {
            // Its turn count may be outdated.
            self.caches.contexts.remove(&(tenant.clone(), copied.from));
        }
        let outcome = outcome?;
        if let Idempotent::Applied(Some(committed)) = &outcome {
            let context = ConversationContext {
                id: conversation.id,
                agent_id: conversation.agent_id,
                user_id: conversation.user_id.clone(),
                last_message_seq: conversation.message_count,
                turn_count: 0,
                running_turn: None,
                newest_message: None,
            };
            let key = (tenant.clone(), conversation.id);
            self.caches
                .contexts
                .replace(key, Arc::new(context), committed.last);
            self.caches.applied.record_write(tenant, *committed);
        }
        Ok(outcome)
    }

    async fn find(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Listed<Conversation>>>, RepositoryError> {
        self.inner.find(tenant, id).await
    }

    /// A cached id is used only if the conversation still exists.
    async fn find_by_name(
        &self,
        tenant: &TenantId,
        name: &ConversationName,
    ) -> Result<Option<ConversationId>, RepositoryError> {
        let key = (tenant.clone(), name.clone());
        if let Some(id) = self.caches.names.get(&key) {
            if self.find_context(tenant, id).await?.value.is_some() {
                return Ok(Some(id));
            }
            self.caches.names.remove(&key);
        }
        let found = self.inner.find_by_name(tenant, name).await?;
        if let Some(id) = found {
            self.caches.names.insert(key, id);
        }
        Ok(found)
    }

    async fn find_context(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Arc<ConversationContext>>>, RepositoryError> {
        let key = (tenant.clone(), id);
        // The position is read before the entry. In the other order, a client that follows the log
        // from the returned position could miss a change between the two reads.
        let log_position = self.caches.applied.position(tenant).unwrap_or(Seq(0));
        if self.caches.applied.is_trusted(self.clock.running_for())
            && let Some((context, entry_position)) = self.caches.contexts.get(&key)
        {
            let position = log_position.max(entry_position);
            return Ok(AsOf {
                value: Some(context),
                position,
            });
        }
        let ticket = self.caches.contexts.begin_load(&key);
        let found = self.inner.find_context(tenant, id).await?;
        if let Some(context) = &found.value
            && self.caches.applied.follow(tenant, found.position)
        {
            self.caches
                .contexts
                .fill(ticket, key, Arc::clone(context), found.position);
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
        // The title and the metadata are not part of a context.
        let outcome = self.inner.update(tenant, conversation, stamp).await?;
        if let Some((committed, _)) = &outcome {
            self.caches.applied.record_write(tenant, *committed);
        }
        Ok(outcome)
    }

    async fn delete(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        expected: Option<i64>,
        stamp: &Stamp,
    ) -> Result<DeleteOutcome, RepositoryError> {
        let outcome = self.inner.delete(tenant, id, expected, stamp).await;
        self.caches.contexts.remove(&(tenant.clone(), id));
        if let Ok(DeleteOutcome::Deleted(committed)) = &outcome {
            self.caches.live.cancel_of_conversation(tenant, id);
            self.caches.applied.record_write(tenant, *committed);
        }
        outcome
    }

    async fn find_message(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        message: &MessageReference,
    ) -> Result<Option<FoundMessage>, RepositoryError> {
        self.inner.find_message(tenant, id, message).await
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
