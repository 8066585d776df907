//! Taking apart what a port answered.

use std::fmt::Debug;

use domain::IdempotencyRecord;
use ports::{Committed, Deletion, Once, RepositoryError};

/// What a store answers when all is well.
pub(crate) trait Answer<T> {
    /// The answer; an error fails the test where it was asked.
    fn answered(self) -> T;
}

impl<T> Answer<T> for Result<T, RepositoryError> {
    #[track_caller]
    fn answered(self) -> T {
        match self {
            Ok(answer) => answer,
            Err(error) => panic!("the store answers {error}: {error:?}"),
        }
    }
}

/// A write that may be carried out once.
pub(crate) trait OnceAnswer<T> {
    /// What was carried out.
    fn done(self) -> T;
    /// What the key was used for before.
    fn repeated(self) -> IdempotencyRecord;
}

impl<T: Debug> OnceAnswer<T> for Result<Once<T>, RepositoryError> {
    #[track_caller]
    fn done(self) -> T {
        match self.answered() {
            Once::Done(done) => done,
            Once::Repeated(record) => panic!("was taken for a repetition of {record:?}"),
        }
    }

    #[track_caller]
    fn repeated(self) -> IdempotencyRecord {
        match self.answered() {
            Once::Repeated(record) => record,
            Once::Done(done) => panic!("was carried out a second time: {done:?}"),
        }
    }
}

/// A deletion that found what it was to delete.
#[track_caller]
pub(crate) fn deleted(answer: Result<Deletion, RepositoryError>) -> Committed {
    match answer.answered() {
        Deletion::Deleted(committed) => committed,
        Deletion::NotFound => panic!("there was nothing to delete"),
    }
}

/// How many events a change wrote.
pub(crate) const fn event_count(committed: Committed) -> i64 {
    committed.last.0 - committed.first.0 + 1
}

/// Fails unless the answer is `Conflict`.
#[track_caller]
pub(crate) fn assert_conflict<T: Debug>(answer: &Result<T, RepositoryError>) {
    assert!(
        matches!(answer, Err(RepositoryError::Conflict { .. })),
        "not a conflict: {answer:?}"
    );
}

/// Fails unless the answer is `Stale`.
#[track_caller]
pub(crate) fn assert_stale<T: Debug>(answer: &Result<T, RepositoryError>) {
    assert!(
        matches!(answer, Err(RepositoryError::Stale { .. })),
        "not stale: {answer:?}"
    );
}
