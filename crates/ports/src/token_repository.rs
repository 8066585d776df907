//! What a store remembers of tokens.

use async_trait::async_trait;
use domain::{SecretDigest, Timestamp};
use uuid::Uuid;

use crate::RepositoryError;

/// What a store remembers of tokens: those revoked before their end, and the client assertions
/// that were used. Both are forgotten by the purge once their end has passed.
#[async_trait]
pub trait TokenRepository: Send + Sync {
    /// Refuses a token of ours, by its `jti`, until it ends. MUST raise the access version the
    /// first time; a token revoked before stays as it was.
    async fn revoke(&self, token: Uuid, ends_at: Timestamp) -> Result<(), RepositoryError>;

    /// Whether a token of ours was revoked. MUST be true until the token's end at least.
    async fn is_revoked(&self, token: Uuid) -> Result<bool, RepositoryError>;

    /// Uses up a client assertion, named by a digest of its client and `jti`. MUST answer `true`
    /// exactly once for the same digest until the end given at least, also when two processes ask
    /// at the same time.
    async fn use_assertion(
        &self,
        assertion: &SecretDigest,
        ends_at: Timestamp,
    ) -> Result<bool, RepositoryError>;
}
