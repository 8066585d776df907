//! The one task that writes: it owns the write connection and runs one transaction at a time.
//!
//! Being run by it is the lock of every tenant: nothing else writes. (Another process may, such as
//! a command that makes a key beside a running server; `BEGIN IMMEDIATE` waits for it.)

use std::{fs::File, future::Future, pin::Pin, time::Duration};

use ports::{RepositoryError, error::chain};
use relational::WritingThread;
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

/// Within this time a caller gets an answer, if only that the store is unavailable.
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(5);

/// Transactions that may wait for their turn; above it callers wait for a place.
const WAITING_JOBS: usize = 1_024;

const BEGIN: &str = "begin immediate";

/// What a transaction does with its connection.
pub(crate) type Work<'c, T> = Pin<Box<dyn Future<Output = Result<T, RepositoryError>> + Send + 'c>>;

/// Why a transaction has no result.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// Nothing was written.
    RolledBack(RepositoryError),
    /// The commit was asked for and got no good answer.
    Unknown(RepositoryError),
}

impl From<WriteError> for RepositoryError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::RolledBack(error) | WriteError::Unknown(error) => error,
        }
    }
}

/// Whether the connection can run the next transaction. After an error of the database it is
/// not trusted: a failed commit may or may not have ended the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Afterwards {
    Reuse,
    Reopen,
}

type Running<'c> = Pin<Box<dyn Future<Output = Afterwards> + Send + 'c>>;
type Job = Box<
    dyn for<'c> FnOnce(Result<&'c mut SqliteConnection, RepositoryError>) -> Running<'c> + Send,
>;

enum Message {
    Run(Job),
    Close(oneshot::Sender<()>),
}

/// The way to the task that writes. Cheap to clone; the task ends with the last clone.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    messages: mpsc::Sender<Message>,
}

impl Writer {
    /// Starts the task on `thread`. That and `lock` are held as long as the task lives.
    pub(crate) fn start(
        options: &SqliteConnectOptions,
        lock: Option<File>,
        tasks: &TaskTracker,
        thread: WritingThread,
    ) -> Self {
        let (messages, queue) = mpsc::channel(WAITING_JOBS);
        let options = options
            .clone()
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(CALL_LIMIT)
            // A batch touches more pages than the usual 2 MB hold when there is much to write.
            .pragma("cache_size", "-16384")
            // What a statement sets aside while it runs needs no file.
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
        Self { messages }
    }

    /// Runs `work` in a transaction and commits it; rolls back when it answers an error. Answers
    /// `Unavailable` when that takes too long; then the transaction may still be carried out.
    pub(crate) async fn transaction<T, W>(&self, work: W) -> Result<T, RepositoryError>
    where
        T: Send + 'static,
        W: for<'c> FnOnce(&'c mut SqliteConnection) -> Work<'c, T> + Send + 'static,
    {
        match timeout(CALL_LIMIT, self.unhurried(work)).await {
            Ok(outcome) => outcome.map_err(RepositoryError::from),
            Err(elapsed) => Err(RepositoryError::Unavailable(elapsed.into())),
        }
    }

    /// Like [`Self::transaction`], but what has begun is awaited without a limit in time. What has
    /// not begun within [`CALL_LIMIT`] is withdrawn.
    pub(crate) async fn unhurried<T, W>(&self, work: W) -> Result<T, WriteError>
    where
        T: Send + 'static,
        W: for<'c> FnOnce(&'c mut SqliteConnection) -> Work<'c, T> + Send + 'static,
    {
        let late =
            |elapsed: Elapsed| WriteError::RolledBack(RepositoryError::Unavailable(elapsed.into()));
        let deadline = Instant::now() + CALL_LIMIT;
        let (start, mut begun) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        let job: Job =
            Box::new(move |connection| Box::pin(attend(connection, work, start, answer)));
        let sent = timeout_at(deadline, self.messages.send(Message::Run(job))).await;
        sent.map_err(late)?
            .map_err(|_closed| WriteError::RolledBack(closed()))?;
        if let Err(elapsed) = timeout_at(deadline, &mut begun).await {
            begun.close();
            // It may have begun in this very moment.
            if begun.try_recv().is_err() {
                return Err(late(elapsed));
            }
        }
        answered
            .await
            .unwrap_or_else(|_lost| Err(WriteError::Unknown(closed())))
    }

    /// Whether the task is there: `Unavailable` when it has ended, for whatever reason.
    pub(crate) fn check(&self) -> Result<(), RepositoryError> {
        if self.messages.is_closed() {
            return Err(closed());
        }
        Ok(())
    }

    /// Lets what waits finish, then closes the connection, which folds the log file into the
    /// database.
    pub(crate) async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.messages.send(Message::Close(done)).await.is_ok() {
            let _ = closed.await;
        }
    }
}

fn closed() -> RepositoryError {
    RepositoryError::Unavailable("the store is closed".into())
}

/// Runs what comes until there is no more; answers who waits for the end, if anybody.
async fn run(
    options: SqliteConnectOptions,
    mut queue: mpsc::Receiver<Message>,
) -> Option<oneshot::Sender<()>> {
    let mut open = None;
    let mut closing = None;
    while let Some(message) = queue.recv().await {
        match message {
            Message::Run(job) => open = serve(&options, open, job).await,
            Message::Close(done) => {
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

/// Runs one job, on the connection that is open or on a new one.
async fn serve(
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
        Afterwards::Reuse => Some(connection),
        Afterwards::Reopen => {
            let _ = connection.close_hard().await;
            None
        }
    }
}

/// Runs one piece of work and answers its caller.
async fn attend<T, W>(
    connection: Result<&mut SqliteConnection, RepositoryError>,
    work: W,
    start: oneshot::Sender<()>,
    answer: oneshot::Sender<Result<T, WriteError>>,
) -> Afterwards
where
    W: for<'c> FnOnce(&'c mut SqliteConnection) -> Work<'c, T> + Send,
{
    if start.send(()).is_err() {
        // The caller has gone while this waited: nobody would learn what came of it.
        return Afterwards::Reuse;
    }
    let outcome = match connection {
        Ok(connection) => in_transaction(connection, work).await,
        Err(error) => Err(WriteError::RolledBack(error)),
    };
    let afterwards = match &outcome {
        Err(
            WriteError::Unknown(error)
            | WriteError::RolledBack(error @ RepositoryError::Unavailable(_)),
        ) => {
            let error = chain(error);
            tracing::warn!(error, "a write failed; the next one gets a new connection");
            Afterwards::Reopen
        }
        _ => Afterwards::Reuse,
    };
    let _ = answer.send(outcome);
    afterwards
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
                // Without the room for its last page, a commit is none: nobody has to look for it.
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
