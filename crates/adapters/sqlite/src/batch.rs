//! The commit of a batch of writes.

use std::sync::Arc;

use async_trait::async_trait;
use relational::{
    BatchError, BatchStore, CommittedBatch, FactsQuery, HeadsBefore, Plan, PlannedBatch, WriteOp,
    plan,
};
use tokio::sync::oneshot;

use crate::{
    facts, rows,
    writer::{WriteError, Writer},
};

/// The store of the group commit's writer.
pub(crate) struct SqliteBatchStore {
    pub(crate) writer: Writer,
}

#[async_trait]
impl BatchStore for SqliteBatchStore {
    async fn commit(
        &mut self,
        ops: Arc<[WriteOp]>,
        in_doubt_since: Option<&HeadsBefore>,
    ) -> Result<CommittedBatch, BatchError> {
        let query = FactsQuery::new(&ops, in_doubt_since);
        let (heads_sender, mut heads_receiver) = oneshot::channel();
        let committed = self.writer.read_then_write(
            move |connection| Box::pin(async move { facts::read(connection, &query).await }),
            move |facts, connection| {
                let Plan { rows, outcomes } = plan(&ops, &facts);
                rows::write_directly(connection, &rows)?;
                // Only a batch that has reached its commit can be in doubt.
                let _ = heads_sender.send(facts.heads.clone());
                Ok(CommittedBatch {
                    outcomes,
                    facts,
                    rows,
                })
            },
        );
        // After a failed commit, the writer opens a new connection.
        match committed.await {
            Ok(batch) => Ok(batch),
            Err(WriteError::RolledBack(error)) => Err(BatchError::Failed(error)),
            Err(WriteError::Unknown(source)) => match heads_receiver.try_recv() {
                Ok(heads) => Err(BatchError::Unknown { heads, source }),
                Err(_not_committed) => Err(BatchError::Failed(source)),
            },
        }
    }

    async fn commit_if_current(&mut self, batch: Arc<PlannedBatch>) -> Result<bool, BatchError> {
        let heads = batch.facts.heads.clone();
        let write = move |connection: &mut _| rows::write_if_current(connection, &batch);
        let written = self.writer.run_directly(write);
        written.await.map_err(|error| match error {
            WriteError::Unknown(source) if source.is_retryable() => {
                BatchError::Unknown { heads, source }
            }
            // Rejected data ends the transaction before its commit.
            WriteError::Unknown(error) | WriteError::RolledBack(error) => BatchError::Failed(error),
        })
    }
}

#[cfg(test)]
mod tests;
