//! The outcome of a write with an idempotency key.

use domain::IdempotencyRecord;

/// The outcome of a write that may have an idempotency entry.
#[derive(Debug, Clone, PartialEq)]
pub enum Idempotent<T> {
    /// The write was applied, and its entry was recorded in the same transaction.
    Applied(T),
    /// Nothing was written: the key was used before, by the same command or another.
    Replayed(IdempotencyRecord),
}
