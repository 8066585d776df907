//! The commit of a batch of turns, on a dedicated connection.

use std::sync::Arc;

use async_trait::async_trait;
use ports::RepositoryError;
use relational::{
    BatchError, BatchStore, FactsQuery, WriteOp, WriterThread, group_commit::HeadsBefore, plan,
    write_op::Outcomes,
};
use sqlx::{ConnectOptions, Connection, PgConnection, postgres::PgConnectOptions};
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

    async fn attempt(
        &mut self,
        ops: &[WriteOp],
        in_doubt_since: Option<&HeadsBefore>,
        heads_at_commit: &mut Option<HeadsBefore>,
    ) -> Result<Outcomes, RepositoryError> {
        // Taken during the attempt, so that the connection of an aborted attempt is not used again.
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let outcomes = run_transaction(&mut connection, ops, in_doubt_since, heads_at_commit).await;
        if !matches!(outcomes, Err(RepositoryError::Unavailable(_))) {
            self.connection = Some(connection);
        }
        outcomes
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
    ) -> Result<Outcomes, BatchError> {
        if in_doubt_since.is_some() {
            self.connection = None;
        }
        let mut heads_at_commit = None;
        let outcomes = timeout(
            CALL_TIMEOUT,
            self.attempt(&ops, in_doubt_since, &mut heads_at_commit),
        )
        .await
        .unwrap_or_else(|elapsed| Err(RepositoryError::Unavailable(elapsed.into())));
        outcomes.map_err(|source| match heads_at_commit {
            Some(heads) => BatchError::Unknown { heads, source },
            None => BatchError::Failed(source),
        })
    }
}

/// Runs one transaction. `heads_at_commit` is set to the locked heads before the commit is sent.
async fn run_transaction(
    connection: &mut PgConnection,
    ops: &[WriteOp],
    in_doubt_since: Option<&HeadsBefore>,
    heads_at_commit: &mut Option<HeadsBefore>,
) -> Result<Outcomes, RepositoryError> {
    let mut transaction = connection.begin().await.map_err(from_sqlx)?;
    match write(&mut transaction, ops, in_doubt_since).await {
        Ok((outcomes, heads)) => {
            *heads_at_commit = Some(heads);
            let committed = transaction.commit().await;
            committed.map_err(|error| RepositoryError::Unavailable(error.into()))?;
            Ok(outcomes)
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
) -> Result<(Outcomes, HeadsBefore), RepositoryError> {
    let facts = facts::read(connection, &FactsQuery::new(ops, in_doubt_since)).await?;
    let plan = plan(ops, &facts);
    rows::write(connection, &plan.rows).await?;
    Ok((plan.outcomes, facts.heads))
}
