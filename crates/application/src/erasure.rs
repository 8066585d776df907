//! The follower that erases the data of users.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{ConversationId, EventType, PrincipalId, Seq, Stamp, TenantId, erasure::EndedErasure};
use futures::future::try_join_all;
use ports::{
    Clock, ConversationFilter, ConversationQuery, ConversationRepository, ErasureRepository,
    FollowerPosition, FollowerRepository, FollowerStep, LoggedEvent, PendingErasure,
    RepositoryError,
};
use writes::{DeleteConversation, DeleteOutcome, EndErasure};

use crate::{
    cache::CachedWrites,
    followers::{FollowerWork, begin_at_head},
};

/// The number of conversations that are deleted together.
const CHUNK: usize = 100;

/// The time for which a token of a user may be valid, twice: clocks differ.
const MAX_TOKEN_AGE: Duration = Duration::from_hours(48);

/// The follower that erases the data of users after the event with which an erasure begins.
pub struct Eraser {
    erasures: Arc<dyn ErasureRepository>,
    followers: Arc<dyn FollowerRepository>,
    conversations: Arc<dyn ConversationRepository>,
    writes: CachedWrites,
    clock: Arc<dyn Clock>,
}

impl Eraser {
    /// Creates the follower. `conversations` must not be cached.
    pub fn new(
        erasures: Arc<dyn ErasureRepository>,
        followers: Arc<dyn FollowerRepository>,
        conversations: Arc<dyn ConversationRepository>,
        writes: CachedWrites,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            erasures,
            followers,
            conversations,
            writes,
            clock,
        }
    }

    /// Does all erasures of a tenant that have begun.
    async fn erase_all(&self, tenant: &TenantId) -> Result<(), RepositoryError> {
        for erasure in self.erasures.pending(tenant).await? {
            self.erase(tenant, &erasure).await?;
        }
        Ok(())
    }

    async fn erase(
        &self,
        tenant: &TenantId,
        erasure: &PendingErasure,
    ) -> Result<(), RepositoryError> {
        let counts = self.erasures.count(tenant, erasure).await?;
        self.delete_conversations(tenant, &erasure.user_id).await?;
        let tokens_end_at = self.clock.now() + MAX_TOKEN_AGE;
        let user_id = &erasure.user_id;
        self.erasures
            .anonymize(tenant, user_id, tokens_end_at)
            .await?;
        let end = EndErasure {
            tenant: tenant.clone(),
            erasure: EndedErasure {
                erasure_id: erasure.id,
                counts,
            },
            stamp: self.stamp(),
        };
        self.writes.write(end).await?;
        Ok(())
    }

    /// Deletes all conversations of a user, with those that begin meanwhile.
    async fn delete_conversations(
        &self,
        tenant: &TenantId,
        user_id: &str,
    ) -> Result<(), RepositoryError> {
        let query = ConversationQuery {
            filter: ConversationFilter {
                user_id: Some(user_id.to_owned()),
                ..ConversationFilter::default()
            },
            after: None,
            limit: CHUNK,
        };
        loop {
            let page = self.conversations.list(tenant, &query).await?.value;
            let ids = page.items.iter().map(|found| found.item.id);
            let deletions = ids.map(|id| self.delete(tenant, id, user_id));
            try_join_all(deletions).await?;
            if page.items.is_empty() {
                return Ok(());
            }
        }
    }

    async fn delete(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        user_id: &str,
    ) -> Result<DeleteOutcome, RepositoryError> {
        let delete = DeleteConversation {
            tenant: tenant.clone(),
            id,
            expected: None,
            only_of: Some(user_id.to_owned()),
            is_erasure: true,
            idle_since_before: None,
            stamp: self.stamp(),
        };
        self.writes.write(delete).await
    }

    fn stamp(&self) -> Stamp {
        Stamp {
            time: self.clock.now(),
            actor: PrincipalId::service(),
        }
    }
}

#[async_trait]
impl FollowerWork for Eraser {
    fn name(&self) -> &'static str {
        "erasure"
    }

    /// The events with which erasures begin.
    fn types(&self) -> &'static [EventType] {
        &[EventType::UserUpdated]
    }

    async fn positions(&self) -> Result<Vec<(TenantId, FollowerPosition)>, RepositoryError> {
        self.followers.positions(self.name()).await
    }

    async fn begin(
        &self,
        tenant: &TenantId,
        from: Option<FollowerPosition>,
        head: Seq,
    ) -> Result<Option<FollowerPosition>, RepositoryError> {
        // The events with which erasures began may be removed.
        self.erase_all(tenant).await?;
        begin_at_head(&*self.followers, self.name(), tenant, from, head).await
    }

    async fn apply(
        &self,
        step: &FollowerStep,
        events: &[LoggedEvent],
    ) -> Result<bool, RepositoryError> {
        if !events.is_empty() {
            self.erase_all(&step.tenant).await?;
        }
        self.followers.advance(self.name(), step).await
    }
}
