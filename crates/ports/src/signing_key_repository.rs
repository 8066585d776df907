//! Signing keys in a store.

use async_trait::async_trait;
use domain::{SigningKey, Timestamp};

use crate::RepositoryError;

/// The keys with which this service signs its access tokens. They belong to no tenant.
#[async_trait]
pub trait SigningKeyRepository: Send + Sync {
    /// All keys, newest first (`created_at`, then `kid`, both descending), ended ones included
    /// until the purge removes them.
    async fn list(&self) -> Result<Vec<SigningKey>, RepositoryError>;

    /// Adds a key that signs from now on. MUST write nothing and answer `false` when the newest
    /// key is not `newest` (none, when absent), so that of two processes that rotate at the same
    /// time one does it. MUST let the keys before it end at `previous_until`, but never later than
    /// they would have ended already, and raise the access version, in the same transaction.
    async fn add(
        &self,
        key: &SigningKey,
        newest: Option<&str>,
        previous_until: Timestamp,
    ) -> Result<bool, RepositoryError>;
}
