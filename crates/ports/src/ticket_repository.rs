//! Tickets for WebSocket connections in a store.

use std::time::Duration;

use async_trait::async_trait;
use domain::{CallerClaims, SecretDigest};

use crate::RepositoryError;

/// Tickets for WebSocket connections in a store, known by their digests only. The purge removes
/// expired tickets that were not redeemed.
#[async_trait]
pub trait TicketRepository: Send + Sync {
    /// Stores a new ticket with the claims of its caller. It expires after `life` by the store's clock. MUST return `Conflict`
    /// if the digest exists.
    async fn insert(
        &self,
        digest: &SecretDigest,
        claims: &CallerClaims,
        life: Duration,
    ) -> Result<(), RepositoryError>;

    /// Finds a ticket without changing it. MUST NOT write, because unauthenticated clients can
    /// cause the call. MUST return what `redeem` would return.
    async fn find(&self, digest: &SecretDigest) -> Result<Option<CallerClaims>, RepositoryError>;

    /// Redeems a ticket. MUST return it to at most one caller, also if several processes redeem it
    /// at the same time. MUST return `None` once it has expired.
    async fn redeem(&self, digest: &SecretDigest) -> Result<Option<CallerClaims>, RepositoryError>;
}
