//! Erasures of the data of users.

use async_trait::async_trait;
use domain::{ErasureId, TenantId, Timestamp, erasure::ErasureCounts};

use crate::RepositoryError;

/// An erasure that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingErasure {
    /// The erasure.
    pub id: ErasureId,
    /// The user.
    pub user_id: String,
}

/// The erasures that have begun, and the removal of ids of users from rows that stay.
#[async_trait]
pub trait ErasureRepository: Send + Sync {
    /// Returns the erasures of a tenant that have begun and not ended.
    async fn pending(&self, tenant: &TenantId) -> Result<Vec<PendingErasure>, RepositoryError>;

    /// Counts the conversations of a user and their messages. MUST return the same for an erasure whenever it is
    /// called.
    async fn count(
        &self,
        tenant: &TenantId,
        erasure: &PendingErasure,
    ) -> Result<ErasureCounts, RepositoryError>;

    /// Removes the id of a user from all rows that stay: events and usage, the turns of conversations of others,
    /// and what agents were changed by. MUST also remove the idempotency records of the user, make the next purge
    /// remove conversations that were deleted earlier, and keep the generation of the tokens of the user under a
    /// digest until `tokens_end_at`. MUST use short transactions without the lock of the tenant.
    async fn anonymize(
        &self,
        tenant: &TenantId,
        user_id: &str,
        tokens_end_at: Timestamp,
    ) -> Result<(), RepositoryError>;
}
