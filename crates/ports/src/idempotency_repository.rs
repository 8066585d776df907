//! Idempotency records in a store.

use async_trait::async_trait;
use domain::{IdempotencyEntry, IdempotencyRecord, TenantId};

use crate::RepositoryError;

/// Idempotency records in a store. The write that has the effect records and checks its key in its
/// own transaction. This port serves requests that fail before they reach that write.
#[async_trait]
pub trait IdempotencyRepository: Send + Sync {
    /// Finds the record of an entry's key for its principal and operation. MUST return the record
    /// whatever its command was, also if its turn released the key. MUST return `None` if the
    /// tenant's record is older than the retention time.
    async fn find(
        &self,
        tenant: &TenantId,
        idempotency: &IdempotencyEntry,
    ) -> Result<Option<IdempotencyRecord>, RepositoryError>;
}
