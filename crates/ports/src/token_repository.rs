//! Revoked tokens, generations of user tokens, and used client assertions in a store.

use async_trait::async_trait;
use domain::{SecretDigest, TenantId, Timestamp};
use uuid::Uuid;

use crate::RepositoryError;

/// Revoked access tokens, generations of user tokens, and used client assertions in a store. The purge
/// removes revoked tokens and assertions after they expire.
#[async_trait]
pub trait TokenRepository: Send + Sync {
    /// Revokes an access token of this service, by its `jti`, until it expires. MUST raise the
    /// access version the first time; a second revocation changes nothing.
    async fn revoke(&self, token: Uuid, ends_at: Timestamp) -> Result<(), RepositoryError>;

    /// Returns `true` if an access token of this service was revoked. MUST do so at least until the
    /// token expires.
    async fn is_revoked(&self, token: Uuid) -> Result<bool, RepositoryError>;

    /// Returns the generation of a user's tokens. MUST return 0 for a user whose tokens were never
    /// withdrawn.
    async fn user_generation(
        &self,
        tenant: &TenantId,
        user_id: &str,
    ) -> Result<i64, RepositoryError>;

    /// Withdraws all tokens of a user: raises the generation of the user's tokens by one, also if
    /// several processes call it at the same time. MUST raise the access version in the same
    /// transaction.
    async fn withdraw_user_tokens(
        &self,
        tenant: &TenantId,
        user_id: &str,
    ) -> Result<(), RepositoryError>;

    /// Marks a client assertion, identified by a digest of its client and `jti`, as used. MUST
    /// return `true` exactly once per digest, at least until `ends_at`, also if two processes call
    /// it at the same time.
    async fn use_assertion(
        &self,
        assertion: &SecretDigest,
        ends_at: Timestamp,
    ) -> Result<bool, RepositoryError>;
}
