//! Idempotency records in a store.

use async_trait::async_trait;
use domain::{ConversationId, IdempotencyEntry, IdempotencyRecord, TenantId, TurnId};

use crate::RepositoryError;

/// Idempotency records in a store. The write that has the effect records and checks its key in its
/// own transaction. This port serves requests that fail before they reach that write, and turns of
/// which nothing but their key is stored: they claim it before they run.
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

    /// Stores the entry's result as the answer of the turn that has claimed its key, and ends the claim.
    /// With `released_into` it releases the key, as a failed turn of that conversation does. Returns
    /// `false`, and MUST change nothing, unless the key is still that of the turn.
    async fn settle(
        &self,
        tenant: &TenantId,
        idempotency: &IdempotencyEntry,
        turn: TurnId,
        released_into: Option<ConversationId>,
    ) -> Result<bool, RepositoryError>;
}
