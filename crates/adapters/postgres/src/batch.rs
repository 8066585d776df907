//! The commit of a batch of writes, on a dedicated connection.

use std::sync::Arc;

use async_trait::async_trait;
use ports::RepositoryError;
use relational::{
    BatchError, BatchStore, CommittedBatch, Facts, FactsQuery, Plan, PlannedBatch, WriteOp,
    WriterThread, group_commit::HeadsBefore, plan,
};
use sqlx::{
    ConnectOptions, Connection, PgConnection,
    postgres::{PgConnectOptions, PgDatabaseError, PgSeverity},
};
use tokio::time::timeout;

use crate::{
    connections::{CALL_TIMEOUT, prepare},
    error::from_sqlx,
    facts, rows,
};

/// The store of the group commit's writer.
pub(crate) struct PostgresBatchStore {
    options: PgConnectOptions,
    connection: Option<PgConnection>,
    /// The thread on which it runs, which ends with this value.
    _thread: WriterThread,
}

impl PostgresBatchStore {
    /// Creates a store that connects for the first batch.
    pub(crate) const fn new(options: PgConnectOptions, thread: WriterThread) -> Self {
        Self {
            options,
            connection: None,
            _thread: thread,
        }
    }

    /// Runs `work` on the connection, within the time limit. `heads_at_commit` is set by `work`
    /// before it sends the commit.
    async fn attempt<T>(
        &mut self,
        work: impl AsyncFnOnce(
            &mut PgConnection,
            &mut Option<HeadsBefore>,
        ) -> Result<T, RepositoryError>,
    ) -> Result<T, BatchError> {
        let mut heads_at_commit = None;
        let result = timeout(CALL_TIMEOUT, async {
            // Taken during the attempt, so that the connection of an aborted attempt is not used
            // again.
            let mut connection = match self.connection.take() {
                Some(connection) => connection,
                None => self.connect().await?,
            };
            let result = work(&mut connection, &mut heads_at_commit).await;
            if !matches!(result, Err(RepositoryError::Unavailable(_))) {
                self.connection = Some(connection);
            }
            result
        });
        let result = result
            .await
            .unwrap_or_else(|elapsed| Err(RepositoryError::Unavailable(elapsed.into())));
        result.map_err(|source| match heads_at_commit {
            Some(heads) if source.is_retryable() => BatchError::Unknown { heads, source },
            _ => BatchError::Failed(source),
        })
    }

    async fn connect(&self) -> Result<PgConnection, RepositoryError> {
        let mut connection = self.options.connect().await.map_err(from_sqlx)?;
        prepare(&mut connection).await.map_err(from_sqlx)?;
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
        self.attempt(async |connection, heads_at_commit| {
            run_transaction(connection, &ops, in_doubt_since, heads_at_commit).await
        })
        .await
    }

    async fn read_ahead(&mut self, query: &FactsQuery) -> Result<Option<Facts>, BatchError> {
        let read = async |connection: &mut PgConnection, _: &mut Option<HeadsBefore>| {
            facts::read_ahead(connection, query).await
        };
        self.attempt(read).await.map(Some)
    }

    async fn commit_if_current(&mut self, batch: Arc<PlannedBatch>) -> Result<bool, BatchError> {
        self.attempt(async |connection, heads_at_commit| {
            *heads_at_commit = Some(batch.facts.heads.clone());
            let written = rows::write_if_current(connection, &batch).await;
            if written.as_ref().is_err_and(was_rolled_back) {
                *heads_at_commit = None;
            }
            written.map_err(from_sqlx)
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
