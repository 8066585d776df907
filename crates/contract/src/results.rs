//! Unwrapping the results of ports in tests.

use std::fmt::Debug;

use domain::IdempotencyRecord;
use ports::{Idempotent, RepositoryError};
use writes::{Committed, DeleteOutcome};

/// A result that must be successful.
pub(crate) trait ResultExt<T> {
    /// Returns the value; an error fails the test at the caller's line.
    fn success(self) -> T;
}

impl<T> ResultExt<T> for Result<T, RepositoryError> {
    #[track_caller]
    fn success(self) -> T {
        match self {
            Ok(result) => result,
            Err(error) => panic!("the store failed with {error}: {error:?}"),
        }
    }
}

/// A result of a write that may have an idempotency entry.
pub(crate) trait IdempotentExt<T> {
    /// Returns the outcome of an applied write.
    fn applied(self) -> T;
    /// Returns the record of a replayed write.
    fn replayed(self) -> IdempotencyRecord;
}

impl<T: Debug> IdempotentExt<T> for Result<Idempotent<T>, RepositoryError> {
    #[track_caller]
    fn applied(self) -> T {
        match self.success() {
            Idempotent::Applied(outcome) => outcome,
            Idempotent::Replayed(record) => panic!("the write was replayed: {record:?}"),
        }
    }

    #[track_caller]
    fn replayed(self) -> IdempotencyRecord {
        match self.success() {
            Idempotent::Replayed(record) => record,
            Idempotent::Applied(outcome) => panic!("the write was applied again: {outcome:?}"),
        }
    }
}

/// Unwraps a deletion that must have deleted the resource.
#[track_caller]
pub(crate) fn deleted(result: Result<DeleteOutcome, RepositoryError>) -> Committed {
    match result.success() {
        DeleteOutcome::Deleted(committed) => committed,
        DeleteOutcome::NotFound => panic!("the resource does not exist"),
    }
}

/// Returns the number of events of a change.
pub(crate) const fn event_count(committed: Committed) -> i64 {
    committed.last.0 - committed.first.0 + 1
}

/// Asserts that the result is `Conflict`.
#[track_caller]
pub(crate) fn assert_conflict<T: Debug>(result: &Result<T, RepositoryError>) {
    assert!(
        matches!(result, Err(RepositoryError::Conflict { .. })),
        "not a conflict: {result:?}"
    );
}

/// Asserts that the result is `Stale`.
#[track_caller]
pub(crate) fn assert_stale<T: Debug>(result: &Result<T, RepositoryError>) {
    assert!(
        matches!(result, Err(RepositoryError::Stale { .. })),
        "not stale: {result:?}"
    );
}
