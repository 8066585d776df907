//! The commit of a batch of turns.

use std::sync::Arc;

use async_trait::async_trait;
use relational::{
    BatchError, BatchStore, FactsQuery, WriteOp, group_commit::HeadsBefore, plan,
    write_op::Outcomes,
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
    ) -> Result<Outcomes, BatchError> {
        let query = FactsQuery::new(&ops, in_doubt_since);
        let (heads_sender, mut heads_receiver) = oneshot::channel();
        let committed = self.writer.transaction_without_deadline(move |connection| {
            Box::pin(async move {
                let facts = facts::read(connection, &query).await?;
                let plan = plan(&ops, &facts);
                rows::write(connection, &plan.rows).await?;
                // Only a batch that has reached its commit can be in doubt.
                let _ = heads_sender.send(facts.heads);
                Ok(plan.outcomes)
            })
        });
        // After a failed commit, the writer opens a new connection.
        match committed.await {
            Ok(outcomes) => Ok(outcomes),
            Err(WriteError::RolledBack(error)) => Err(BatchError::Failed(error)),
            Err(WriteError::Unknown(source)) => match heads_receiver.try_recv() {
                Ok(heads) => Err(BatchError::Unknown { heads, source }),
                Err(_not_committed) => Err(BatchError::Failed(source)),
            },
        }
    }
}

#[cfg(test)]
mod tests;
