//! Background maintenance of a store.

use async_trait::async_trait;
use domain::Timestamp;

use crate::RepositoryError;

/// The ages at which rows can be removed, by the store's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionCutoffs {
    /// Resources deleted before this time can be removed.
    pub deleted_before: Timestamp,
    /// Idempotency records created before this time can be removed.
    pub records_before: Timestamp,
    /// Revoked tokens, used assertions, tickets and signing keys that expired before this time can
    /// be removed.
    pub ended_before: Timestamp,
}

/// Background maintenance of a store.
#[async_trait]
pub trait Maintenance: Send + Sync {
    /// Checks that the store responds. MUST fail if the store's writer task has ended.
    async fn ping(&self) -> Result<(), RepositoryError>;

    /// Returns the time of the store's clock. Processes whose own clocks differ use it to agree on
    /// ages.
    async fn now(&self) -> Result<Timestamp, RepositoryError>;

    /// Cleans up to `limit` rows. Marks the conversations of deleted agents as deleted too, so that
    /// listings need not skip them. Removes what is `outdated`: deleted messages, turns,
    /// conversations and then agents, and expired idempotency records, revoked tokens, used
    /// assertions, tickets and signing keys. MUST use short transactions and write no events.
    /// Returns the number of rows that it changed; 0 if nothing is left to do.
    async fn purge(&self, limit: usize, outdated: RetentionCutoffs)
    -> Result<u64, RepositoryError>;

    /// Makes what was removed unreadable in the files of the store, as far as the store can. May take long.
    async fn compact(&self) -> Result<(), RepositoryError>;

    /// Removes the events older than `before` from the start of every tenant's log, up to the first
    /// event that is not older; at most `limit` events of all tenants together. MUST raise the
    /// first position of the log in the transaction that removes the events (to one more than the
    /// head if no event is left), so that no reader sees a gap. MUST use short transactions, and
    /// the cost MUST NOT depend on the length of the logs. A tenant whose log cannot be trimmed
    /// MUST NOT prevent the trimming of other logs. Returns the number of removed events: fewer
    /// than `limit` if nothing is left to do. Returns an error if nothing but the failed logs is
    /// left.
    async fn trim_log(&self, before: Timestamp, limit: usize) -> Result<u64, RepositoryError>;
}
