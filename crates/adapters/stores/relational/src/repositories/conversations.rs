//! Conversations.

use std::{future::Future, sync::Arc};

use async_trait::async_trait;
use domain::{
    AsOf, Conversation, ConversationContext, ConversationId, HistoryMessage, Listed, Message, Page,
    TenantId,
};
use ports::{
    ConversationName, ConversationQuery, ConversationRepository, FoundMessage, HistoryQuery,
    MessageQuery, MessageReference, RepositoryError,
};

use crate::{Store, stored::StoredFoundMessage};

/// The SQL on conversations and their messages.
pub trait ConversationSql: Store {
    /// `ConversationRepository::find`.
    fn find_conversation(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> impl Future<Output = Result<AsOf<Option<Listed<Conversation>>>, RepositoryError>> + Send;

    /// `ConversationRepository::find_by_name`.
    fn find_by_name(
        &self,
        tenant: &TenantId,
        name: &ConversationName,
    ) -> impl Future<Output = Result<Option<ConversationId>, RepositoryError>> + Send;

    /// Returns the message that `message` refers to.
    fn find_message(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        message: &MessageReference,
    ) -> impl Future<Output = Result<Option<StoredFoundMessage>, RepositoryError>> + Send;

    /// Returns the message at a position, also in a conversation that is deleted.
    fn message_at(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        seq: i64,
    ) -> impl Future<Output = Result<Option<Message>, RepositoryError>> + Send;

    /// `ConversationRepository::find_context`.
    fn find_context(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> impl Future<Output = Result<AsOf<Option<Arc<ConversationContext>>>, RepositoryError>> + Send;

    /// `ConversationRepository::list`.
    fn list_conversations(
        &self,
        tenant: &TenantId,
        query: &ConversationQuery,
    ) -> impl Future<Output = Result<AsOf<Page<Listed<Conversation>>>, RepositoryError>> + Send;

    /// `ConversationRepository::messages`.
    fn list_messages(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &MessageQuery,
    ) -> impl Future<Output = Result<AsOf<Option<Page<Message>>>, RepositoryError>> + Send;

    /// `ConversationRepository::history`.
    fn read_history(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &HistoryQuery,
    ) -> impl Future<Output = Result<Vec<HistoryMessage>, RepositoryError>> + Send;
}

/// Conversations in a store.
pub struct Conversations<S>(pub S);

#[async_trait]
impl<S: ConversationSql> ConversationRepository for Conversations<S> {
    async fn find(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Listed<Conversation>>>, RepositoryError> {
        self.0.find_conversation(tenant, id).await
    }

    async fn find_by_name(
        &self,
        tenant: &TenantId,
        name: &ConversationName,
    ) -> Result<Option<ConversationId>, RepositoryError> {
        self.0.find_by_name(tenant, name).await
    }

    async fn find_message(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        message: &MessageReference,
    ) -> Result<Option<FoundMessage>, RepositoryError> {
        let Some(found) = self.0.find_message(tenant, id, message).await? else {
            return Ok(None);
        };
        let previous = match found.previous {
            Some(seq) => self.0.message_at(tenant, id, seq).await?,
            None => None,
        };
        Ok(Some(FoundMessage {
            message: found.message.into(),
            before: found.before,
            previous,
        }))
    }

    async fn find_context(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Arc<ConversationContext>>>, RepositoryError> {
        self.0.find_context(tenant, id).await
    }

    async fn list(
        &self,
        tenant: &TenantId,
        query: &ConversationQuery,
    ) -> Result<AsOf<Page<Listed<Conversation>>>, RepositoryError> {
        self.0.list_conversations(tenant, query).await
    }

    async fn messages(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &MessageQuery,
    ) -> Result<AsOf<Option<Page<Message>>>, RepositoryError> {
        self.0.list_messages(tenant, id, query).await
    }

    async fn history(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        query: &HistoryQuery,
    ) -> Result<Vec<HistoryMessage>, RepositoryError> {
        self.0.read_history(tenant, id, query).await
    }
}
