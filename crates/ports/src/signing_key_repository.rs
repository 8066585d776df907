//! Signing keys in a store.

use async_trait::async_trait;
use domain::{SigningKey, Timestamp};

use crate::RepositoryError;

/// The keys with which this service signs its access tokens. They belong to no tenant.
#[async_trait]
pub trait SigningKeyRepository: Send + Sync {
    /// Returns all keys, newest first (`created_at`, then `kid`, both descending), including
    /// expired keys that are not purged yet.
    async fn list(&self) -> Result<Vec<SigningKey>, RepositoryError>;

    /// Adds a key that signs from now on. MUST write nothing and return `false` if the newest key
    /// is not `newest` (`None`: no key exists), so that only one of two processes rotates at the
    /// same time. MUST let the earlier keys expire at `previous_until`, but never later than they
    /// would have, and raise the access version, in the same transaction.
    async fn add(
        &self,
        key: &SigningKey,
        newest: Option<&str>,
        previous_until: Timestamp,
    ) -> Result<bool, RepositoryError>;
}
