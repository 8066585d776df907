//! The jobs of the writer task: one transaction each.

use std::{future::Future, pin::Pin};

use ports::{RepositoryError, error::one_line};
use relational::Work;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::sync::{mpsc, oneshot};

use super::WriteError;
use crate::{
    error::{from_sqlx, is_full},
    script,
};

/// The start of every transaction.
pub(crate) const BEGIN: &str = "begin immediate";

/// The connection for the next transaction. After an error of the database, the connection is not
/// reused: a failed commit may or may not have ended the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextConnection {
    Reuse,
    Reopen,
}

pub(super) type JobFuture<'c> = Pin<Box<dyn Future<Output = NextConnection> + Send + 'c>>;
pub(super) type Job = Box<
    dyn for<'c> FnOnce(Result<&'c mut SqliteConnection, RepositoryError>) -> JobFuture<'c> + Send,
>;

/// Work that begins and ends its own transaction.
pub(crate) type WholeTransaction<'c, T> =
    Pin<Box<dyn Future<Output = Result<T, WriteError>> + Send + 'c>>;

/// A message to the writer task.
pub(super) enum Command {
    Run(Job),
    Close(oneshot::Sender<()>),
}

/// Runs jobs until the queue is closed and empty. Returns the sender for the caller of `close`.
pub(super) async fn run(
    options: SqliteConnectOptions,
    mut queue: mpsc::Receiver<Command>,
) -> Option<oneshot::Sender<()>> {
    let mut open = None;
    let mut closing = None;
    while let Some(command) = queue.recv().await {
        match command {
            Command::Run(job) => open = run_on_connection(&options, open, job).await,
            Command::Close(done) => {
                queue.close();
                closing = Some(done);
            }
        }
    }
    if let Some(connection) = open {
        let _ = connection.close().await;
    }
    closing
}

async fn connect(options: &SqliteConnectOptions) -> Result<SqliteConnection, sqlx::Error> {
    let mut connection = options.connect().await?;
    script::prepare(&mut connection).await?;
    Ok(connection)
}

/// Runs one job on the open connection, or on a new one.
async fn run_on_connection(
    options: &SqliteConnectOptions,
    open: Option<SqliteConnection>,
    job: Job,
) -> Option<SqliteConnection> {
    let mut connection = match open {
        Some(connection) => connection,
        None => match connect(options).await {
            Ok(connection) => connection,
            Err(error) => {
                job(Err(from_sqlx(error))).await;
                return None;
            }
        },
    };
    match job(Ok(&mut connection)).await {
        NextConnection::Reuse => Some(connection),
        NextConnection::Reopen => {
            let _ = connection.close_hard().await;
            None
        }
    }
}

/// Runs `work`, which is one transaction, and sends its result to its caller.
pub(super) async fn run_job<T, W>(
    connection: Result<&mut SqliteConnection, RepositoryError>,
    work: W,
    start: oneshot::Sender<()>,
    result_sender: oneshot::Sender<Result<T, WriteError>>,
) -> NextConnection
where
    W: for<'c> FnOnce(&'c mut SqliteConnection) -> WholeTransaction<'c, T> + Send,
{
    if start.send(()).is_err() {
        // The caller was dropped in the meantime: no result is needed.
        return NextConnection::Reuse;
    }
    let outcome = match connection {
        Ok(connection) => work(connection).await,
        Err(error) => Err(WriteError::RolledBack(error)),
    };
    let next_connection = match &outcome {
        Err(
            WriteError::Unknown(error)
            | WriteError::RolledBack(error @ RepositoryError::Unavailable(_)),
        ) => {
            let error = one_line(error);
            tracing::warn!(error, "SQLite write failed; reopening the connection");
            NextConnection::Reopen
        }
        _ => NextConnection::Reuse,
    };
    let _ = result_sender.send(outcome);
    next_connection
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
            committed.map_err(commit_error)?;
            Ok(value)
        }
        Err(error) => {
            transaction.rollback().await.map_err(rolled_back)?;
            Err(WriteError::RolledBack(error))
        }
    }
}

/// The error of a commit.
pub(crate) fn commit_error(error: sqlx::Error) -> WriteError {
    // A commit on a full disk is rolled back, so its outcome is known.
    let is_undone = is_full(&error);
    let error = from_sqlx(error);
    if is_undone {
        WriteError::RolledBack(error)
    } else {
        WriteError::Unknown(error)
    }
}
