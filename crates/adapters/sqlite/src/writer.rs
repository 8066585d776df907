//! The writer task, which owns the only write connection and runs one transaction at a time.
//!
//! A running transaction of this task is the lock of every tenant, because nothing else writes.
//! (Another process may, such as a command that creates a key beside a running server; `BEGIN
//! IMMEDIATE` waits for it.)

use std::{fs::File, future::Future, pin::Pin, time::Duration};

use ports::{RepositoryError, error::chain};
use relational::{Work, WriterThread};
use sqlx::{
    ConnectOptions, Connection, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, error::Elapsed, timeout, timeout_at},
};
use tokio_util::task::TaskTracker;

use crate::error::{from_sqlx, is_full};

/// The time limit of a call; after it, the store counts as unavailable.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum number of queued transactions. Further callers wait until the queue has space.
const MAX_QUEUED_JOBS: usize = 1_024;

const BEGIN: &str = "begin immediate";

/// The failure of a transaction.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// Nothing was written.
    RolledBack(RepositoryError),
    /// The commit was not confirmed, so its outcome is unknown.
    Unknown(RepositoryError),
}

impl From<WriteError> for RepositoryError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::RolledBack(error) | WriteError::Unknown(error) => error,
        }
    }
}

/// The connection for the next transaction. After an error of the database, the connection is not
/// reused: a failed commit may or may not have ended the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextConnection {
    Reuse,
    Reopen,
}

type JobFuture<'c> = Pin<Box<dyn Future<Output = NextConnection> + Send + 'c>>;
type Job = Box<
    dyn for<'c> FnOnce(Result<&'c mut SqliteConnection, RepositoryError>) -> JobFuture<'c> + Send,
>;

enum Command {
    Run(Job),
    Close(oneshot::Sender<()>),
}

/// The handle of the writer task. Cheap to clone; the task ends with the last clone.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    commands: mpsc::Sender<Command>,
}

impl Writer {
    /// Starts the task on `thread`. The task holds the thread and `lock` until it ends.
    pub(crate) fn start(
        options: &SqliteConnectOptions,
        lock: Option<File>,
        tasks: &TaskTracker,
        thread: WriterThread,
    ) -> Self {
        let (commands, queue) = mpsc::channel(MAX_QUEUED_JOBS);
        let options = options
            .clone()
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(CALL_TIMEOUT)
            // A large batch touches more pages than fit into the default of 2 MB.
            .pragma("cache_size", "-16384")
            // Temporary data of statements needs no file.
            .pragma("temp_store", "memory");
        let runtime = thread.runtime().clone();
        let task = async move {
            let closing = run(options, queue).await;
            drop(lock);
            if let Some(done) = closing {
                let _ = done.send(());
            }
            drop(thread);
        };
        tasks.spawn_on(task, &runtime);
        Self { commands }
    }

    /// Runs `work` in a transaction and commits it, or rolls it back if `work` returns an error.
    /// Fails with `Unavailable` after a time limit; the transaction may still be committed then.
    pub(crate) async fn transaction<T, W>(&self, work: W) -> Result<T, RepositoryError>
    where
        T: Send + 'static,
        W: for<'c> FnOnce(&'c mut SqliteConnection) -> Work<'c, T> + Send + 'static,
    {
        match timeout(CALL_TIMEOUT, self.transaction_without_deadline(work)).await {
            Ok(outcome) => outcome.map_err(RepositoryError::from),
            Err(elapsed) => Err(RepositoryError::Unavailable(elapsed.into())),
        }
    }

    /// Like [`Self::transaction`], but waits without a time limit for a transaction that has begun.
    /// One that has not begun within [`CALL_TIMEOUT`] is withdrawn.
    pub(crate) async fn transaction_without_deadline<T, W>(&self, work: W) -> Result<T, WriteError>
    where
        T: Send + 'static,
        W: for<'c> FnOnce(&'c mut SqliteConnection) -> Work<'c, T> + Send + 'static,
    {
        let timed_out =
            |elapsed: Elapsed| WriteError::RolledBack(RepositoryError::Unavailable(elapsed.into()));
        let deadline = Instant::now() + CALL_TIMEOUT;
        let (start, mut started) = oneshot::channel();
        let (result_sender, outcome) = oneshot::channel();
        let job: Job =
            Box::new(move |connection| Box::pin(run_job(connection, work, start, result_sender)));
        let sent = timeout_at(deadline, self.commands.send(Command::Run(job))).await;
        sent.map_err(timed_out)?
            .map_err(|_closed| WriteError::RolledBack(closed()))?;
        if let Err(elapsed) = timeout_at(deadline, &mut started).await {
            started.close();
            // It may have begun at the same moment.
            if started.try_recv().is_err() {
                return Err(timed_out(elapsed));
            }
        }
        outcome
            .await
            .unwrap_or_else(|_lost| Err(WriteError::Unknown(closed())))
    }

    /// Returns `Unavailable` if the task has ended for any reason.
    pub(crate) fn check(&self) -> Result<(), RepositoryError> {
        if self.commands.is_closed() {
            return Err(closed());
        }
        Ok(())
    }

    /// Waits for the queued transactions, then closes the connection. SQLite then merges the log
    /// file into the database.
    pub(crate) async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.commands.send(Command::Close(done)).await.is_ok() {
            let _ = closed.await;
        }
    }
}

fn closed() -> RepositoryError {
    RepositoryError::Unavailable("the store is closed".into())
}

/// Runs jobs until the queue is closed and empty. Returns the sender for the caller of `close`.
async fn run(
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

/// Runs one job on the open connection, or on a new one.
async fn run_on_connection(
    options: &SqliteConnectOptions,
    open: Option<SqliteConnection>,
    job: Job,
) -> Option<SqliteConnection> {
    let mut connection = match open {
        Some(connection) => connection,
        None => match options.connect().await {
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

/// Runs one transaction and sends its result to its caller.
async fn run_job<T, W>(
    connection: Result<&mut SqliteConnection, RepositoryError>,
    work: W,
    start: oneshot::Sender<()>,
    result_sender: oneshot::Sender<Result<T, WriteError>>,
) -> NextConnection
where
    W: for<'c> FnOnce(&'c mut SqliteConnection) -> Work<'c, T> + Send,
{
    if start.send(()).is_err() {
        // The caller was dropped in the meantime: no result is needed.
        return NextConnection::Reuse;
    }
    let outcome = match connection {
        Ok(connection) => in_transaction(connection, work).await,
        Err(error) => Err(WriteError::RolledBack(error)),
    };
    let next_connection = match &outcome {
        Err(
            WriteError::Unknown(error)
            | WriteError::RolledBack(error @ RepositoryError::Unavailable(_)),
        ) => {
            let error = chain(error);
            tracing::warn!(error, "SQLite write failed; reopening the connection");
            NextConnection::Reopen
        }
        _ => NextConnection::Reuse,
    };
    let _ = result_sender.send(outcome);
    next_connection
}

async fn in_transaction<T, W>(connection: &mut SqliteConnection, work: W) -> Result<T, WriteError>
where
    W: for<'c> FnOnce(&'c mut SqliteConnection) -> Work<'c, T> + Send,
{
    let rolled_back = |error| WriteError::RolledBack(from_sqlx(error));
    let mut transaction = connection.begin_with(BEGIN).await.map_err(rolled_back)?;
    match work(&mut transaction).await {
        Ok(value) => {
            let committed = transaction.commit().await;
            committed.map_err(|error| {
                // A commit on a full disk is rolled back, so its outcome is known.
                let is_undone = is_full(&error);
                let error = from_sqlx(error);
                if is_undone {
                    WriteError::RolledBack(error)
                } else {
                    WriteError::Unknown(error)
                }
            })?;
            Ok(value)
        }
        Err(error) => {
            transaction.rollback().await.map_err(rolled_back)?;
            Err(WriteError::RolledBack(error))
        }
    }
}

#[cfg(test)]
mod tests;
