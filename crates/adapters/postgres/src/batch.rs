//! Commits a batch of turns, on a connection of its own.

use std::sync::Arc;

use async_trait::async_trait;
use ports::RepositoryError;
use relational::{
    BatchError, BatchStore, FactsQuery, Item, WritingThread, group_commit::HeadsBefore,
    item::Outcomes, plan,
};
use sqlx::{ConnectOptions, Connection, PgConnection, postgres::PgConnectOptions};
use tokio::time::timeout;

use crate::{
    connections::{CALL_LIMIT, prepare},
    error::from_sqlx,
    facts, rows,
};

/// What the writer of batches needs.
pub(crate) struct PostgresBatches {
    options: PgConnectOptions,
    connection: Option<PgConnection>,
    /// Where it runs; it ends with this.
    _thread: WritingThread,
}

impl PostgresBatches {
    /// Connects when the first batch comes.
    pub(crate) const fn new(options: PgConnectOptions, thread: WritingThread) -> Self {
        Self {
            options,
            connection: None,
            _thread: thread,
        }
    }

    async fn attempt(
        &mut self,
        items: &[Item],
        doubt: Option<&HeadsBefore>,
        committing: &mut Option<HeadsBefore>,
    ) -> Result<Outcomes, RepositoryError> {
        // Taken out for the time of the attempt: one that is given up does not come back.
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let outcomes = carry_out(&mut connection, items, doubt, committing).await;
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
impl BatchStore for PostgresBatches {
    async fn commit(
        &mut self,
        items: Arc<[Item]>,
        doubt: Option<&HeadsBefore>,
    ) -> Result<Outcomes, BatchError> {
        if doubt.is_some() {
            self.connection = None;
        }
        let mut committing = None;
        let outcomes = timeout(CALL_LIMIT, self.attempt(&items, doubt, &mut committing))
            .await
            .unwrap_or_else(|elapsed| Err(RepositoryError::Unavailable(elapsed.into())));
        outcomes.map_err(|source| match committing {
            Some(heads) => BatchError::Unknown { heads, source },
            None => BatchError::Failed(source),
        })
    }
}

/// One transaction. `committing` holds the heads it saw once its commit is on the way.
async fn carry_out(
    connection: &mut PgConnection,
    items: &[Item],
    doubt: Option<&HeadsBefore>,
    committing: &mut Option<HeadsBefore>,
) -> Result<Outcomes, RepositoryError> {
    let mut transaction = connection.begin().await.map_err(from_sqlx)?;
    match write(&mut transaction, items, doubt).await {
        Ok((outcomes, heads)) => {
            *committing = Some(heads);
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
    items: &[Item],
    doubt: Option<&HeadsBefore>,
) -> Result<(Outcomes, HeadsBefore), RepositoryError> {
    let facts = facts::read(connection, &FactsQuery::of(items, doubt)).await?;
    let plan = plan(items, &facts);
    rows::write(connection, &plan.rows).await?;
    Ok((plan.outcomes, facts.heads))
}
