//! The writer task, which owns the only write connections and runs one transaction at a time.
//!
//! A running transaction of this task is the lock of every tenant, because nothing else writes.
//! (Another process may, such as a command that creates a key beside a running server; `BEGIN
//! IMMEDIATE` waits for it.)

mod checkpoints;
mod connections;
mod jobs;

use std::{io, time::Duration};

use ports::RepositoryError;
use relational::{Work, WriterThread};
use sqlx::{SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, error::Elapsed, timeout, timeout_at},
};
use tokio_util::task::TaskTracker;

pub(crate) use self::jobs::from_direct_commit;
use self::{
    checkpoints::Checkpoints,
    connections::Connections,
    jobs::{Command, Job, WholeTransaction, in_transaction, read_then_write, run, run_job},
};
use crate::location::{DatabaseFile, Lock};

/// The time limit of a call; after it, the store counts as unavailable.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum number of queued transactions. Further callers wait until the queue has space.
const MAX_QUEUED_JOBS: usize = 1_024;

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

/// The handle of the writer task. Cheap to clone; the task ends with the last clone.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    commands: mpsc::Sender<Command>,
}

impl Writer {
    /// Starts the task on `thread`, and the thread of checkpoints. The task holds the thread and `lock`
    /// until it ends.
    pub(crate) fn start(
        options: &SqliteConnectOptions,
        lock: Option<Lock>,
        tasks: &TaskTracker,
        thread: WriterThread,
    ) -> io::Result<Self> {
        let file = DatabaseFile::at(options.get_filename())?;
        let checkpoints = Checkpoints::start(file.clone())?;
        let (commands, queue) = mpsc::channel(MAX_QUEUED_JOBS);
        let connections = Connections::new(options, file);
        let runtime = thread.runtime().clone();
        let task = async move {
            let closing = run(connections, checkpoints, queue).await;
            drop(lock);
            if let Some(done) = closing {
                let _ = done.send(());
            }
            drop(thread);
        };
        tasks.spawn_on(task, &runtime);
        Ok(Self { commands })
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
        self.run(move |connections| {
            Box::pin(async move {
                let connection = connections.driver().await.map_err(WriteError::RolledBack)?;
                in_transaction(connection, work).await
            })
        })
        .await
    }

    /// Runs `read` and then `write` in one transaction, with the same limits as
    /// [`Self::transaction_without_deadline`]: `read` through the driver, while the direct
    /// connection holds the lock of the file, and `write` in the thread of the task.
    pub(crate) async fn read_then_write<F, T, R, W>(
        &self,
        read: R,
        write: W,
    ) -> Result<T, WriteError>
    where
        F: Send + 'static,
        T: Send + 'static,
        R: for<'c> FnOnce(&'c mut SqliteConnection) -> Work<'c, F> + Send + 'static,
        W: FnOnce(F, &rusqlite::Connection) -> Result<T, RepositoryError> + Send + 'static,
    {
        self.run(move |connections| Box::pin(read_then_write(connections, read, write)))
            .await
    }

    /// Runs `work`, which begins and ends a transaction itself, in the thread of the task, with the
    /// same limits as [`Self::transaction_without_deadline`].
    pub(crate) async fn run_directly<T, W>(&self, work: W) -> Result<T, WriteError>
    where
        T: Send + 'static,
        W: FnOnce(&mut rusqlite::Connection) -> Result<T, WriteError> + Send + 'static,
    {
        self.run(move |connections| {
            Box::pin(async move {
                let connection = connections.direct().map_err(WriteError::RolledBack)?;
                work(connection)
            })
        })
        .await
    }

    async fn run<T, W>(&self, work: W) -> Result<T, WriteError>
    where
        T: Send + 'static,
        W: for<'c> FnOnce(&'c mut Connections) -> WholeTransaction<'c, T> + Send + 'static,
    {
        let timed_out =
            |elapsed: Elapsed| WriteError::RolledBack(RepositoryError::Unavailable(elapsed.into()));
        let deadline = Instant::now() + CALL_TIMEOUT;
        let (start, mut started) = oneshot::channel();
        let (result_sender, outcome) = oneshot::channel();
        let job: Job =
            Box::new(move |connections| Box::pin(run_job(connections, work, start, result_sender)));
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

    /// Waits for the queued transactions, then closes the connections. SQLite then merges the log
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

#[cfg(test)]
mod tests;
