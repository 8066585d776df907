//! A cache of users, also of those of whom nothing is stored, and the writes that change it.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{AsOf, Listed, Page, Seq, TenantId, User};
use ports::{Clock, RepositoryError, UserRepository};
use writes::{BeginErasure, Committed, EndErasure, SaveUser, SavedUser};

use super::{AnnouncedCommand, CachedCommand, Caches};

/// A [`UserRepository`] that caches the results of `find`.
pub struct CachedUsers {
    inner: Arc<dyn UserRepository>,
    caches: Caches,
    clock: Arc<dyn Clock>,
}

impl CachedUsers {
    /// Creates a cache in front of `inner`.
    pub fn new(inner: Arc<dyn UserRepository>, caches: Caches, clock: Arc<dyn Clock>) -> Self {
        Self {
            inner,
            caches,
            clock,
        }
    }
}

#[async_trait]
impl UserRepository for CachedUsers {
    async fn find(
        &self,
        tenant: &TenantId,
        user_id: &str,
    ) -> Result<AsOf<Option<Arc<User>>>, RepositoryError> {
        let key = (tenant.clone(), user_id.to_owned());
        if self.caches.applied.is_trusted(self.clock.running_for())
            && let Some((user, position)) = self.caches.users.get(&key)
        {
            let value = (*user).clone();
            return Ok(AsOf { value, position });
        }
        let load = self.caches.users.begin_load(&key);
        let found = self.inner.find(tenant, user_id).await?;
        if self.caches.applied.follow(tenant, found.position) {
            let user = Arc::new(found.value.clone());
            self.caches.users.fill(load, key, user, found.position);
        }
        Ok(found)
    }

    async fn list(
        &self,
        tenant: &TenantId,
        after: Option<Seq>,
        limit: usize,
    ) -> Result<Page<Listed<User>>, RepositoryError> {
        self.inner.list(tenant, after, limit).await
    }
}

impl CachedCommand for BeginErasure {
    type Before = (TenantId, String);

    fn before(&self, _caches: &Caches) -> Self::Before {
        (self.tenant.clone(), self.user_id.clone())
    }

    fn apply(key: Self::Before, caches: &Caches, outcome: &Result<Self::Outcome, RepositoryError>) {
        if let Ok(committed) = outcome {
            caches.applied.record_write(&key.0, *committed);
            caches.users.replace(key, Arc::new(None), committed.last);
        }
    }
}

impl AnnouncedCommand for EndErasure {
    fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    fn committed(outcome: &Self::Outcome) -> Option<Committed> {
        Some(*outcome)
    }
}

impl CachedCommand for SaveUser {
    type Before = (TenantId, String);

    fn before(&self, _caches: &Caches) -> Self::Before {
        (self.tenant.clone(), self.user_id.clone())
    }

    fn apply(key: Self::Before, caches: &Caches, outcome: &Result<Self::Outcome, RepositoryError>) {
        let Ok(Ok(SavedUser {
            user,
            committed: Some(committed),
            ..
        })) = outcome
        else {
            return;
        };
        caches.applied.record_write(&key.0, *committed);
        let user = Arc::new(Some(Arc::new(user.clone())));
        caches.users.replace(key, user, committed.last);
    }
}
