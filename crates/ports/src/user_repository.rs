//! Users in a store.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{AsOf, Listed, Page, Seq, TenantId, User};

use crate::RepositoryError;

/// What is stored about users.
#[async_trait]
pub trait UserRepository: Send + Sync {
    /// Finds what is stored about a user.
    async fn find(
        &self,
        tenant: &TenantId,
        user_id: &str,
    ) -> Result<AsOf<Option<Arc<User>>>, RepositoryError>;

    /// Lists a tenant's users, the one that was created last first. The page starts after the position
    /// `after`. It MUST end at about `sizes::PAGE_BYTES` and contain at least one user if any is left.
    async fn list(
        &self,
        tenant: &TenantId,
        after: Option<Seq>,
        limit: usize,
    ) -> Result<Page<Listed<User>>, RepositoryError>;
}
