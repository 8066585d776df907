//! Upkeep of a store, in the background.

use async_trait::async_trait;
use domain::Timestamp;

use crate::RepositoryError;

/// The rows that are old enough to be removed, by the store's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outdated {
    /// What was deleted before this time.
    pub deleted_before: Timestamp,
    /// Idempotency records made before this time.
    pub claims_before: Timestamp,
    /// Revoked tokens, used assertions, tickets and signing keys that ended before this time.
    pub ended_before: Timestamp,
}

/// Upkeep of a store, in the background.
#[async_trait]
pub trait Maintenance: Send + Sync {
    /// Asks the store for a sign of life. MUST fail when the task that writes has ended.
    async fn ping(&self) -> Result<(), RepositoryError>;

    /// Reads the store's clock. Processes whose own clocks differ agree by it on what is old.
    async fn now(&self) -> Result<Timestamp, RepositoryError>;

    /// Cleans up to `limit` rows after deletions: marks the conversations of deleted agents as
    /// deleted too (so that listings need not skip them), and removes what is `outdated`: what
    /// was deleted (messages, turns, conversations, then the agents themselves), idempotency
    /// records, revoked tokens, used assertions, tickets and signing keys. MUST be short transactions
    /// that emit no events. Answers how many rows it touched; 0 when nothing is left to do.
    async fn purge(&self, limit: usize, outdated: Outdated) -> Result<u64, RepositoryError>;

    /// Removes from the beginning of every tenant's log the events that are older than `before`,
    /// up to the first that is not; at most `limit` of all tenants together. MUST raise the log's
    /// first position in the transaction that removes them, to one more than the head when all are
    /// gone, so that nobody reads a log with a hole. MUST be short transactions, and cost the same
    /// however long the logs are. A tenant whose log cannot be trimmed MUST NOT keep any other from
    /// it. Answers how many it removed: fewer than `limit` when nothing is left to do, and the
    /// failure instead when nothing is left but what failed.
    async fn trim_log(&self, before: Timestamp, limit: usize) -> Result<u64, RepositoryError>;
}
