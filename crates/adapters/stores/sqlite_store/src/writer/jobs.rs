//! The jobs of the writer task: one transaction each.

use std::{future::Future, pin::Pin};

use ports::{RepositoryError, error::one_line};
use relational::Work;
use sqlx::{Connection as _, SqliteConnection};
use tokio::sync::{mpsc, oneshot};

use super::{WriteError, checkpoints::Checkpoints, connections::Connections};
use crate::error::{code_of, from_rusqlite, from_sqlx, is_full};

/// The start of every transaction.
const BEGIN: &str = "begin immediate";

pub(super) type Job = Box<
    dyn for<'c> FnOnce(&'c mut Connections) -> Pin<Box<dyn Future<Output = ()> + Send + 'c>> + Send,
>;

/// Work that begins and ends its own transaction.
pub(super) type WholeTransaction<'c, T> =
    Pin<Box<dyn Future<Output = Result<T, WriteError>> + Send + 'c>>;

/// A message to the writer task.
pub(super) enum Command {
    Run(Job),
    Close(oneshot::Sender<()>),
}

/// Runs jobs until the queue is closed and empty. Returns the sender for the caller of `close`.
pub(super) async fn run(
    mut connections: Connections,
    checkpoints: Checkpoints,
    mut queue: mpsc::Receiver<Command>,
) -> Option<oneshot::Sender<()>> {
    let mut closing = None;
    while let Some(command) = queue.recv().await {
        match command {
            Command::Run(job) => {
                job(&mut connections).await;
                checkpoints.notify();
            }
            Command::Close(done) => {
                queue.close();
                closing = Some(done);
            }
        }
    }
    // The last connection that is closed merges the log into the database.
    checkpoints.stop();
    connections.close().await;
    closing
}

/// Runs `work`, which is one transaction, and sends its result to its caller.
pub(super) async fn run_job<T, W>(
    connections: &mut Connections,
    work: W,
    start: oneshot::Sender<()>,
    result_sender: oneshot::Sender<Result<T, WriteError>>,
) where
    W: for<'c> FnOnce(&'c mut Connections) -> WholeTransaction<'c, T> + Send,
{
    if start.send(()).is_err() {
        // The caller was dropped in the meantime: no result is needed.
        return;
    }
    let outcome = work(connections).await;
    if let Err(
        WriteError::Unknown(error)
        | WriteError::RolledBack(error @ RepositoryError::Unavailable(_)),
    ) = &outcome
    {
        let error = one_line(error);
        tracing::warn!(error, "SQLite write failed; reopening the connection");
        // A failed commit may or may not have ended the transaction.
        connections.close_hard().await;
    }
    let _ = result_sender.send(outcome);
}

/// Runs `work` in a transaction and commits it, or rolls it back if `work` returns an error.
pub(super) async fn in_transaction<T, W>(
    connection: &mut SqliteConnection,
    work: W,
) -> Result<T, WriteError>
where
    W: for<'c> FnOnce(&'c mut SqliteConnection) -> Work<'c, T> + Send,
{
    let rolled_back = |error| WriteError::RolledBack(from_sqlx(error));
    let mut transaction = connection.begin_with(BEGIN).await.map_err(rolled_back)?;
    match work(&mut transaction).await {
        Ok(value) => {
            let committed = transaction.commit().await;
            committed.map_err(|error| commit_error(code_of(&error), from_sqlx(error)))?;
            Ok(value)
        }
        Err(error) => {
            transaction.rollback().await.map_err(rolled_back)?;
            Err(WriteError::RolledBack(error))
        }
    }
}

/// Reads through the driver, and then writes directly, under one lock of the file.
pub(super) async fn read_then_write<F, T, R, W>(
    connections: &mut Connections,
    read: R,
    write: W,
) -> Result<T, WriteError>
where
    R: for<'c> FnOnce(&'c mut SqliteConnection) -> Work<'c, F> + Send,
    W: FnOnce(F, &rusqlite::Connection) -> Result<T, RepositoryError> + Send,
{
    let rolled_back = |error| WriteError::RolledBack(from_rusqlite(error));
    // A guard would borrow the connection, which cannot be shared between threads, across an await.
    let direct = connections.direct().map_err(WriteError::RolledBack)?;
    direct.execute_batch(BEGIN).map_err(rolled_back)?;
    let found = match connections.driver().await {
        Ok(connection) => read(connection).await,
        Err(error) => Err(error),
    };
    let direct = connections.direct().map_err(WriteError::RolledBack)?;
    match found.and_then(|found| write(found, direct)) {
        Ok(value) => {
            let committed = direct.execute_batch("commit");
            committed.map_err(from_direct_commit)?;
            Ok(value)
        }
        Err(error) => {
            direct.execute_batch("rollback").map_err(rolled_back)?;
            Err(WriteError::RolledBack(error))
        }
    }
}

/// Returns the error of a failed commit of the direct connection.
pub(crate) fn from_direct_commit(error: rusqlite::Error) -> WriteError {
    let code = error.sqlite_error().map(|error| error.extended_code);
    commit_error(code, from_rusqlite(error))
}

/// Returns the error of a commit that failed with the extended result code `code`.
fn commit_error(code: Option<i32>, error: RepositoryError) -> WriteError {
    // A commit on a full disk is rolled back, so its outcome is known.
    if code.is_some_and(is_full) {
        WriteError::RolledBack(error)
    } else {
        WriteError::Unknown(error)
    }
}
