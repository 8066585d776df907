//! Conversations.

use std::{future::Future, sync::Arc};

use async_trait::async_trait;
use domain::{
    AsOf, Conversation, ConversationContext, ConversationId, HistoryMessage, IdempotencyEntry,
    Listed, Message, Page, Seq, Stamp, TenantId, Timestamp,
};
use ports::{
    Committed, ConversationQuery, ConversationRepository, Deletion, HistoryQuery, Idempotent,
    MessageQuery, RepositoryError,
};

use super::TurnSql;
use crate::{CreateConversation, event_rows, plan};

/// The SQL on conversations and their messages.
pub trait ConversationSql: TurnSql {
    /// `ConversationRepository::find`.
    fn find_conversation(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> impl Future<Output = Result<AsOf<Option<Conversation>>, RepositoryError>> + Send;

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

    /// Finds a conversation that is not deleted.
    fn read_conversation(
        connection: &mut Self::Connection,
        tenant: &TenantId,
        id: ConversationId,
    ) -> impl Future<Output = Result<Option<Conversation>, RepositoryError>> + Send;

    /// Updates the columns of a conversation that clients can change.
    fn update_conversation(
        connection: &mut Self::Connection,
        tenant: &TenantId,
        conversation: &Conversation,
        sort_seq: Seq,
    ) -> impl Future<Output = Result<(), RepositoryError>> + Send;

    /// Marks a conversation as deleted.
    fn delete_conversation(
        connection: &mut Self::Connection,
        tenant: &TenantId,
        id: ConversationId,
        at: Timestamp,
    ) -> impl Future<Output = Result<(), RepositoryError>> + Send;
}

/// Conversations in a store.
pub struct Conversations<S>(pub S);

#[async_trait]
impl<S: ConversationSql> ConversationRepository for Conversations<S> {
    async fn insert(
        &self,
        tenant: &TenantId,
        conversation: &Conversation,
        greeting: Option<&Message>,
        stamp: &Stamp,
        idempotency: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<Option<Committed>>, RepositoryError> {
        let create = CreateConversation {
            tenant: tenant.clone(),
            conversation: conversation.clone(),
            greeting: greeting.cloned(),
            stamp: stamp.clone(),
            idempotency: idempotency.cloned(),
        };
        self.0.group_commit().create_conversation(create).await
    }

    async fn find(
        &self,
        tenant: &TenantId,
        id: ConversationId,
    ) -> Result<AsOf<Option<Conversation>>, RepositoryError> {
        self.0.find_conversation(tenant, id).await
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

    async fn update(
        &self,
        tenant: &TenantId,
        conversation: &Conversation,
        stamp: &Stamp,
    ) -> Result<Option<(Committed, Conversation)>, RepositoryError> {
        let (tenant, conversation) = (tenant.clone(), conversation.clone());
        let stamp = stamp.clone();
        self.0
            .transaction(move |connection| {
                Box::pin(
                    async move { update::<S>(connection, &tenant, &conversation, &stamp).await },
                )
            })
            .await
    }

    async fn delete(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        expected: Option<i64>,
        stamp: &Stamp,
    ) -> Result<Deletion, RepositoryError> {
        let (tenant, stamp) = (tenant.clone(), stamp.clone());
        self.0
            .transaction(move |connection| {
                Box::pin(
                    async move { delete::<S>(connection, &tenant, id, expected, &stamp).await },
                )
            })
            .await
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

async fn update<S: ConversationSql>(
    connection: &mut S::Connection,
    tenant: &TenantId,
    conversation: &Conversation,
    stamp: &Stamp,
) -> Result<Option<(Committed, Conversation)>, RepositoryError> {
    let head = S::lock_tenant(connection, tenant).await?;
    let Some(stored) = S::read_conversation(connection, tenant, conversation.id).await? else {
        return Ok(None);
    };
    let updated = plan::updated_conversation(stored, conversation)?;
    let (rows, committed) = plan::log_change(tenant, head, stamp, |position| {
        event_rows::conversation_updated(position, &updated)
    });
    S::update_conversation(connection, tenant, &updated, committed.last).await?;
    S::write(connection, &rows).await?;
    Ok(Some((committed, updated)))
}

async fn delete<S: ConversationSql>(
    connection: &mut S::Connection,
    tenant: &TenantId,
    id: ConversationId,
    expected: Option<i64>,
    stamp: &Stamp,
) -> Result<Deletion, RepositoryError> {
    let head = S::lock_tenant(connection, tenant).await?;
    let Some(stored) = S::read_conversation(connection, tenant, id).await? else {
        return Ok(Deletion::NotFound);
    };
    plan::check_version("conversation", stored.version, expected)?;
    let open = S::open_turns_of_conversation(connection, tenant, stored.agent_id, id).await?;
    S::delete_conversation(connection, tenant, id, stamp.time).await?;
    let (rows, committed) = plan::log_deletion(tenant, head, &open, stamp, |position| {
        event_rows::conversation_deleted(position, &stored)
    });
    S::write(connection, &rows).await?;
    Ok(Deletion::Deleted(committed))
}
