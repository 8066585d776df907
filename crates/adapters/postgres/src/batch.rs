//! The commit of a batch of writes, on a dedicated connection.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use ports::RepositoryError;
use relational::{
    BatchError, BatchStore, CommittedBatch, Facts, FactsQuery, Plan, PlannedBatch, Work, WriteOp,
    WriterThread, group_commit::HeadsBefore, plan,
};
use sqlx::{
    Connection, PgConnection,
    postgres::{PgConnectOptions, PgDatabaseError, PgSeverity},
};
use tokio::time::timeout;

use crate::{
    connections::{CALL_TIMEOUT, Connections, prepare},
    error::{from_sqlx, lost_its_session},
    facts, rows,
};

/// The work of an attempt, which can be repeated.
trait BatchWork<T>:
    for<'c> Fn(&'c mut PgConnection, &'c mut Option<HeadsBefore>) -> Work<'c, T> + Send + Sync
{
}

impl<T, W> BatchWork<T> for W where
    W: for<'c> Fn(&'c mut PgConnection, &'c mut Option<HeadsBefore>) -> Work<'c, T> + Send + Sync
{
}

/// The store of the group commit's writer.
pub(crate) struct PostgresBatchStore {
    options: PgConnectOptions,
    connection: Option<PgConnection>,
    /// The pool, which gives up an idle connection if the server is full.
    pooled: Connections,
    /// True until it, or a check on its behalf, could connect.
    has_no_writer: Arc<AtomicBool>,
    /// The thread on which it runs, which ends with this value.
    _thread: WriterThread,
}

impl PostgresBatchStore {
    /// Creates a store that connects for the first batch.
    pub(crate) const fn new(
        options: PgConnectOptions,
        pooled: Connections,
        has_no_writer: Arc<AtomicBool>,
        thread: WriterThread,
    ) -> Self {
        Self {
            options,
            connection: None,
            pooled,
            has_no_writer,
            _thread: thread,
        }
    }

    /// Runs `work` on the connection, within the time limit. `heads_at_commit` is set by `work`
    /// before it sends the commit. If the connection was lost while it was idle, `work` runs on a new
    /// one, unless it has sent the commit.
    async fn attempt<T>(&mut self, work: impl BatchWork<T>) -> Result<T, BatchError> {
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
        result.map_err(|source| match heads_at_commit {
            Some(heads) if source.is_retryable() => BatchError::Unknown { heads, source },
            _ => BatchError::Failed(source),
        })
    }

    /// Runs `work`, and keeps the connection unless it may be lost.
    async fn run<T>(
        &mut self,
        mut connection: PgConnection,
        work: &impl BatchWork<T>,
        heads_at_commit: &mut Option<HeadsBefore>,
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

#[async_trait]
impl BatchStore for PostgresBatchStore {
    async fn commit(
        &mut self,
        ops: Arc<[WriteOp]>,
        in_doubt_since: Option<&HeadsBefore>,
    ) -> Result<CommittedBatch, BatchError> {
        if in_doubt_since.is_some() {
            self.connection = None;
        }
        let in_doubt_since = in_doubt_since.cloned();
        self.attempt(move |connection, heads_at_commit| {
            let (ops, in_doubt_since) = (Arc::clone(&ops), in_doubt_since.clone());
            Box::pin(async move {
                run_transaction(connection, &ops, in_doubt_since.as_ref(), heads_at_commit).await
            })
        })
        .await
    }

    async fn read_ahead(&mut self, query: &FactsQuery) -> Result<Option<Facts>, BatchError> {
        let query = Arc::new(query.clone());
        self.attempt(move |connection, _| {
            let query = Arc::clone(&query);
            Box::pin(async move { facts::read_ahead(connection, &query).await.map(Some) })
        })
        .await
    }

    async fn commit_if_current(&mut self, batch: Arc<PlannedBatch>) -> Result<bool, BatchError> {
        self.attempt(move |connection, heads_at_commit| {
            let batch = Arc::clone(&batch);
            Box::pin(async move {
                *heads_at_commit = Some(batch.facts.heads.clone());
                let written = rows::write_if_current(connection, &batch).await;
                if written.as_ref().is_err_and(was_rolled_back) {
                    *heads_at_commit = None;
                }
                written.map_err(from_sqlx)
            })
        })
        .await
    }
}

/// Returns whether the server reports that a statement has failed. After any other error, for
/// example the loss of the connection, the statement may have been committed.
fn was_rolled_back(error: &sqlx::Error) -> bool {
    let error = error.as_database_error();
    let error = error.and_then(|error| error.try_downcast_ref::<PgDatabaseError>());
    error.is_some_and(|error| error.severity() == PgSeverity::Error)
}

/// Runs one transaction. `heads_at_commit` is set to the locked heads before the commit is sent.
async fn run_transaction(
    connection: &mut PgConnection,
    ops: &[WriteOp],
    in_doubt_since: Option<&HeadsBefore>,
    heads_at_commit: &mut Option<HeadsBefore>,
) -> Result<CommittedBatch, RepositoryError> {
    let mut transaction = connection.begin().await.map_err(from_sqlx)?;
    match write(&mut transaction, ops, in_doubt_since).await {
        Ok(batch) => {
            *heads_at_commit = Some(batch.facts.heads.clone());
            let committed = transaction.commit().await;
            committed.map_err(|error| RepositoryError::Unavailable(error.into()))?;
            Ok(batch)
        }
        Err(error) => {
            transaction.rollback().await.map_err(from_sqlx)?;
            Err(error)
        }
    }
}

async fn write(
    connection: &mut PgConnection,
    ops: &[WriteOp],
    in_doubt_since: Option<&HeadsBefore>,
) -> Result<CommittedBatch, RepositoryError> {
    let facts = facts::read(connection, &FactsQuery::new(ops, in_doubt_since)).await?;
    let Plan { rows, outcomes } = plan(ops, &facts);
    rows::write(connection, &rows).await?;
    Ok(CommittedBatch {
        outcomes,
        facts,
        rows,
    })
}
