//! Idempotency records in a store.

use async_trait::async_trait;
use domain::{IdempotencyClaim, IdempotencyRecord, TenantId};

use crate::RepositoryError;

/// Idempotency records in a store. They are written by whatever has the effect, in its
/// transaction, and read there too; this is for requests that never come as far as that.
#[async_trait]
pub trait ClaimRepository: Send + Sync {
    /// Finds what the key of a claim was used for by its principal and operation. MUST answer it
    /// whatever the command was, also when its turn gave it back, and `None` when the tenant's
    /// record is older than its retention.
    async fn find(
        &self,
        tenant: &TenantId,
        claim: &IdempotencyClaim,
    ) -> Result<Option<IdempotencyRecord>, RepositoryError>;
}
