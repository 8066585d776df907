//! Revoked tokens and used client assertions in a store.

use async_trait::async_trait;
use domain::{SecretDigest, Timestamp};
use uuid::Uuid;

use crate::RepositoryError;

/// Revoked access tokens and used client assertions in a store. The purge removes both after they
/// expire.
#[async_trait]
pub trait TokenRepository: Send + Sync {
    /// Revokes an access token of this service, by its `jti`, until it expires. MUST raise the
    /// access version the first time; a second revocation changes nothing.
    async fn revoke(&self, token: Uuid, ends_at: Timestamp) -> Result<(), RepositoryError>;

    /// Returns `true` if an access token of this service was revoked. MUST do so at least until the
    /// token expires.
    async fn is_revoked(&self, token: Uuid) -> Result<bool, RepositoryError>;

    /// Marks a client assertion, identified by a digest of its client and `jti`, as used. MUST
    /// return `true` exactly once per digest, at least until `ends_at`, also if two processes call
    /// it at the same time.
    async fn use_assertion(
        &self,
        assertion: &SecretDigest,
        ends_at: Timestamp,
    ) -> Result<bool, RepositoryError>;
}
