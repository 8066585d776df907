//! Tickets for sockets in a store.

use async_trait::async_trait;
use domain::{SecretDigest, Ticket, Timestamp};

use crate::RepositoryError;

/// Tickets for sockets in a store, known by their digests alone. Those that nobody redeems are
/// forgotten by the purge once their end has passed.
#[async_trait]
pub trait TicketRepository: Send + Sync {
    /// Stores a new ticket. MUST answer `Conflict` when there is one of this digest.
    async fn insert(
        &self,
        digest: &SecretDigest,
        ticket: &Ticket,
        ends_at: Timestamp,
    ) -> Result<(), RepositoryError>;

    /// Looks at a ticket and leaves it as it is, without a write: anybody can ask. MUST answer what
    /// `redeem` would.
    async fn find(
        &self,
        digest: &SecretDigest,
        now: Timestamp,
    ) -> Result<Option<Ticket>, RepositoryError>;

    /// Uses a ticket up. MUST answer it to one caller at the most, also when several processes ask
    /// at the same time, and to nobody from its end on.
    async fn redeem(
        &self,
        digest: &SecretDigest,
        now: Timestamp,
    ) -> Result<Option<Ticket>, RepositoryError>;
}
