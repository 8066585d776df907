//! Upkeep of a store, in the background.

use async_trait::async_trait;
use domain::Timestamp;

use crate::RepositoryError;

/// Upkeep of a store, in the background.
#[async_trait]
pub trait Maintenance: Send + Sync {
    /// Asks the store for a sign of life. MUST fail when the task that writes has ended.
    async fn ping(&self) -> Result<(), RepositoryError>;

    /// Cleans up to `limit` rows after deletions: marks the conversations of deleted agents as
    /// deleted too (so that listings need not skip them), and removes what was deleted before
    /// `deleted_before` (messages, turns, conversations, then the agents themselves) and
    /// idempotency records made before `claims_before`. MUST be short transactions that emit no
    /// events. Answers how many rows it touched; 0 when nothing is left to do.
    async fn purge(
        &self,
        limit: usize,
        deleted_before: Timestamp,
        claims_before: Timestamp,
    ) -> Result<u64, RepositoryError>;
}
