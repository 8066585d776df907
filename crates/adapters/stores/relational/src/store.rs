//! A store as the repositories of this crate use it.

use std::{future::Future, pin::Pin};

use ports::{RepositoryError, Rows};

use crate::{Parameter, read::JoinedRow};

/// The work of a transaction with its connection.
pub type Work<'c, T> = Pin<Box<dyn Future<Output = Result<T, RepositoryError>> + Send + 'c>>;

/// The reads and transactions of a store, and the statements that most transactions begin or end with.
/// A function with a `connection` runs in a transaction.
pub trait Store: Clone + Send + Sync + 'static {
    /// A connection of the database.
    type Connection: Send + 'static;

    /// A row of the database.
    type Row: JoinedRow;

    /// The head of the log of tenant 1, which the statement locks until the transaction ends.
    const LOCK_TENANT: &'static str;

    /// Returns the rows of one statement.
    fn fetch_all(
        &self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> impl Future<Output = Result<Vec<Self::Row>, RepositoryError>> + Send;

    /// Returns the first row of one statement.
    fn fetch_optional(
        &self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> impl Future<Output = Result<Option<Self::Row>, RepositoryError>> + Send;

    /// Returns the rows of one statement of the process itself, which waits for no request.
    fn fetch_own(
        &self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> impl Future<Output = Result<Vec<Self::Row>, RepositoryError>> + Send;

    /// Runs one statement as a transaction, and returns the number of rows that it has changed.
    fn execute(
        &self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> impl Future<Output = Result<u64, RepositoryError>> + Send;

    /// Runs one statement as a transaction, and returns its rows.
    fn execute_returning(
        &self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> impl Future<Output = Result<Vec<Self::Row>, RepositoryError>> + Send;

    /// Returns the rows of one statement of a transaction.
    fn fetch_all_in(
        connection: &mut Self::Connection,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> impl Future<Output = Result<Vec<Self::Row>, RepositoryError>> + Send;

    /// Runs one statement of a transaction, and returns the number of rows that it has changed.
    fn execute_in(
        connection: &mut Self::Connection,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> impl Future<Output = Result<u64, RepositoryError>> + Send;

    /// Inserts rows in a transaction, and returns what the statement does; fails with `Conflict` if
    /// `what` exists.
    fn insert_in(
        connection: &mut Self::Connection,
        what: &'static str,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> impl Future<Output = Result<Vec<Self::Row>, RepositoryError>> + Send;

    /// Runs `work` in a transaction and commits it, or rolls it back if `work` returns an error.
    fn transaction<T, W>(&self, work: W) -> impl Future<Output = Result<T, RepositoryError>> + Send
    where
        T: Send + 'static,
        W: for<'c> FnOnce(&'c mut Self::Connection) -> Work<'c, T> + Send + 'static;

    /// Writes all of `rows`.
    fn write(
        connection: &mut Self::Connection,
        rows: &Rows,
    ) -> impl Future<Output = Result<(), RepositoryError>> + Send;

    /// Locks the state of the store as a whole until the transaction ends.
    fn lock_state(
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), RepositoryError>> + Send;
}
