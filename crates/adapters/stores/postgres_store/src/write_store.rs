//! Reading facts, checking conditions and writing rows.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use futures::future::BoxFuture;
use ports::{
    ConditionalRows, Decided, Decision, Facts, FactsQuery, Lane, RepositoryError, Transacted,
    WriteError, WriteStore, write_store::Heads,
};
use relational::{Work, WriterThread};
use sqlx::{
    Connection, PgConnection,
    postgres::{PgConnectOptions, PgDatabaseError, PgSeverity},
};
use tokio::{
    sync::{Mutex, oneshot},
    time::timeout,
};

use crate::{
    connections::{CALL_TIMEOUT, Connections, prepare},
    error::{from_sqlx, lost_its_session},
    facts, rows,
    server::in_time,
};

/// The work of an attempt, which can be repeated.
trait GroupWork<T>:
    for<'c> Fn(&'c mut PgConnection, &'c mut Option<Heads>) -> Work<'c, T> + Send + Sync
{
}

impl<T, W> GroupWork<T> for W where
    W: for<'c> Fn(&'c mut PgConnection, &'c mut Option<Heads>) -> Work<'c, T> + Send + Sync
{
}

/// The connection of [`Lane::Group`].
pub(crate) struct GroupConnection {
    options: PgConnectOptions,
    connection: Option<PgConnection>,
    /// The pool, which gives up an idle connection if the server is full.
    pooled: Connections,
    /// True while it could not connect.
    has_no_writer: Arc<AtomicBool>,
}

impl GroupConnection {
    /// Connects for the first transaction.
    pub(crate) const fn new(
        options: PgConnectOptions,
        pooled: Connections,
        has_no_writer: Arc<AtomicBool>,
    ) -> Self {
        Self {
            options,
            connection: None,
            pooled,
            has_no_writer,
        }
    }

    /// Closes the connection, if there is one.
    pub(crate) async fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            let _ = in_time(connection.close()).await;
        }
    }

    /// Connects, if it is not connected.
    async fn ensure_connected(&mut self) -> Result<(), RepositoryError> {
        if self.connection.is_none() {
            self.connection = Some(self.connect().await?);
        }
        Ok(())
    }

    /// Runs `work` on the connection, within the time limit. `heads_at_commit` is set by `work`
    /// before it sends the commit. If the connection was lost while it was idle, `work` runs on a new
    /// one, unless it has sent the commit.
    async fn attempt<T>(&mut self, work: impl GroupWork<T>) -> Result<T, WriteError> {
        let mut heads_at_commit = None;
        let result = timeout(CALL_TIMEOUT, async {
            // Taken during the attempt, so that the connection of an aborted attempt is not used
            // again.
            if let Some(connection) = self.connection.take() {
                let result = self.run(connection, &work, &mut heads_at_commit).await;
                let is_lost = result.as_ref().is_err_and(lost_its_session);
                if !is_lost || heads_at_commit.is_some() {
                    return result;
                }
            }
            let connection = self.connect().await?;
            self.run(connection, &work, &mut heads_at_commit).await
        });
        let result = result
            .await
            .unwrap_or_else(|elapsed| Err(RepositoryError::Unavailable(elapsed.into())));
        result.map_err(|source| write_error(source, heads_at_commit))
    }

    /// Runs `work`, and keeps the connection unless it may be lost.
    async fn run<T>(
        &mut self,
        mut connection: PgConnection,
        work: &impl GroupWork<T>,
        heads_at_commit: &mut Option<Heads>,
    ) -> Result<T, RepositoryError> {
        let result = work(&mut connection, heads_at_commit).await;
        if !matches!(result, Err(RepositoryError::Unavailable(_))) {
            self.connection = Some(connection);
        }
        result
    }

    async fn connect(&self) -> Result<PgConnection, RepositoryError> {
        self.has_no_writer.store(true, Ordering::Relaxed);
        let connection = self.pooled.open_beside(&self.options).await;
        let mut connection = connection.map_err(from_sqlx)?;
        prepare(&mut connection).await.map_err(from_sqlx)?;
        self.has_no_writer.store(false, Ordering::Relaxed);
        Ok(connection)
    }
}

/// The writes of the core.
pub(crate) struct PostgresWriteStore {
    pub(crate) group: Arc<Mutex<GroupConnection>>,
    pub(crate) connections: Connections,
    /// The thread on which the writer runs, which ends with this value.
    pub(crate) thread: WriterThread,
}

#[async_trait]
impl WriteStore for PostgresWriteStore {
    async fn transact(
        &self,
        decision: Arc<dyn Decision>,
        lane: Lane,
    ) -> Result<Transacted, WriteError> {
        if lane == Lane::Alone {
            return self.transact_alone(decision).await;
        }
        let mut group = self.group.lock().await;
        group
            .attempt(move |connection, heads_at_commit| {
                let decision = Arc::clone(&decision);
                let at_commit = move |heads| *heads_at_commit = Some(heads);
                Box::pin(async move { run_transaction(connection, &*decision, at_commit).await })
            })
            .await
    }

    async fn write_if(&self, write: Arc<ConditionalRows>) -> Result<bool, WriteError> {
        let mut group = self.group.lock().await;
        group
            .attempt(move |connection, heads_at_commit| {
                let write = Arc::clone(&write);
                Box::pin(async move {
                    *heads_at_commit = Some(write.conditions.heads.clone());
                    let written = rows::write_if(connection, &write).await;
                    if written.as_ref().is_err_and(was_rolled_back) {
                        *heads_at_commit = None;
                    }
                    written.map_err(from_sqlx)
                })
            })
            .await
    }

    async fn read_ahead(&self, query: &FactsQuery) -> Result<Option<Facts>, WriteError> {
        let query = Arc::new(query.clone());
        let mut group = self.group.lock().await;
        group
            .attempt(move |connection, _| {
                let query = Arc::clone(&query);
                Box::pin(async move { facts::read_ahead(connection, &query).await.map(Some) })
            })
            .await
    }

    fn spawn(&self, writer: BoxFuture<'static, ()>) {
        self.thread.runtime().spawn(writer);
    }
}

impl PostgresWriteStore {
    /// Connects the writer, if it is not connected. It keeps the connection.
    pub(crate) async fn connect(&self) -> Result<(), RepositoryError> {
        let group = Arc::clone(&self.group);
        // A connection belongs to the runtime that opened it.
        let connecting = self.thread.runtime().spawn(async move {
            let mut group = group.lock().await;
            group.ensure_connected().await
        });
        let connected = connecting.await;
        connected.unwrap_or_else(|ended| Err(RepositoryError::Unavailable(ended.into())))
    }

    /// Runs one transaction on a connection of the pool.
    async fn transact_alone(&self, decision: Arc<dyn Decision>) -> Result<Transacted, WriteError> {
        // A channel, because the call may be aborted at its time limit.
        let (sender, mut heads_at_commit) = oneshot::channel();
        let at_commit = |heads| drop(sender.send(heads));
        let transacted = self.connections.run(move |connection| {
            Box::pin(async move { run_transaction(connection, &*decision, at_commit).await })
        });
        let transacted = transacted.await;
        transacted.map_err(|source| write_error(source, heads_at_commit.try_recv().ok()))
    }
}

/// Returns the error of an attempt. `heads_at_commit` are given if it has sent the commit.
fn write_error(source: RepositoryError, heads_at_commit: Option<Heads>) -> WriteError {
    match heads_at_commit {
        Some(heads) if source.is_retryable() => WriteError::Unknown { heads, source },
        _ => WriteError::Failed(source),
    }
}

/// Returns whether the server reports that a statement has failed. After any other error, for
/// example the loss of the connection, the statement may have been committed.
fn was_rolled_back(error: &sqlx::Error) -> bool {
    let error = error.as_database_error();
    let error = error.and_then(|error| error.try_downcast_ref::<PgDatabaseError>());
    error.is_some_and(|error| error.severity() == PgSeverity::Error)
}

/// Runs one transaction. Calls `at_commit` with the locked heads before it sends the commit.
async fn run_transaction(
    connection: &mut PgConnection,
    decision: &dyn Decision,
    at_commit: impl FnOnce(Heads) + Send,
) -> Result<Transacted, RepositoryError> {
    let mut transaction = connection.begin().await.map_err(from_sqlx)?;
    match decide_and_write(&mut transaction, decision).await {
        Ok(transacted) => {
            at_commit(transacted.facts.heads.clone());
            let committed = transaction.commit().await;
            committed.map_err(|error| RepositoryError::Unavailable(error.into()))?;
            Ok(transacted)
        }
        Err(error) => {
            transaction.rollback().await.map_err(from_sqlx)?;
            Err(error)
        }
    }
}

/// Reads the facts that the decision asks for, and then writes its rows.
async fn decide_and_write(
    connection: &mut PgConnection,
    decision: &dyn Decision,
) -> Result<Transacted, RepositoryError> {
    let mut facts = Facts::default();
    let mut round = 0;
    loop {
        match decision.decide(round, &facts) {
            Decided::Read(query) => facts::read(connection, &query, &mut facts).await?,
            Decided::Write(rows) => {
                rows::write(connection, &rows).await?;
                return Ok(Transacted { facts, rows });
            }
        }
        round += 1;
    }
}
