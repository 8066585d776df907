//! Tickets for sockets in a store.

use std::time::Duration;

use async_trait::async_trait;
use domain::{SecretDigest, Ticket};

use crate::RepositoryError;

/// Tickets for sockets in a store, known by their digests alone. Those that nobody redeems are
/// forgotten by the purge once their end has passed.
#[async_trait]
pub trait TicketRepository: Send + Sync {
    /// Stores a new ticket, which ends after `life` by the store's clock. MUST answer `Conflict` when there is one of this digest.
    async fn insert(
        &self,
        digest: &SecretDigest,
        ticket: &Ticket,
        life: Duration,
    ) -> Result<(), RepositoryError>;

    /// Looks at a ticket and leaves it as it is, without a write: anybody can ask. MUST answer what
    /// `redeem` would.
    async fn find(&self, digest: &SecretDigest) -> Result<Option<Ticket>, RepositoryError>;

    /// Uses a ticket up. MUST answer it to one caller at the most, also when several processes ask
    /// at the same time, and to nobody from its end on.
    async fn redeem(&self, digest: &SecretDigest) -> Result<Option<Ticket>, RepositoryError>;
}
