//! Commits a batch of turns.

use std::sync::Arc;

use async_trait::async_trait;
use relational::{
    BatchError, BatchStore, FactsQuery, Item, group_commit::HeadsBefore, item::Outcomes, plan,
};
use tokio::sync::oneshot;

use crate::{
    facts, rows,
    writer::{WriteError, Writer},
};

/// What the writer of batches needs.
pub(crate) struct SqliteBatches {
    pub(crate) writer: Writer,
}

#[async_trait]
impl BatchStore for SqliteBatches {
    async fn commit(
        &mut self,
        items: Arc<[Item]>,
        doubt: Option<&HeadsBefore>,
    ) -> Result<Outcomes, BatchError> {
        let query = FactsQuery::of(&items, doubt);
        let (tell_heads, mut heads) = oneshot::channel();
        let committed = self.writer.unhurried(move |connection| {
            Box::pin(async move {
                let facts = facts::read(connection, &query).await?;
                let plan = plan(&items, &facts);
                rows::write(connection, &plan.rows).await?;
                // Only a batch that got as far as its commit can be in doubt.
                let _ = tell_heads.send(facts.heads);
                Ok(plan.outcomes)
            })
        });
        // The connection is never one on which a commit failed: the writer has a new one by then.
        match committed.await {
            Ok(outcomes) => Ok(outcomes),
            Err(WriteError::RolledBack(error)) => Err(BatchError::Failed(error)),
            Err(WriteError::Unknown(source)) => match heads.try_recv() {
                Ok(heads) => Err(BatchError::Unknown { heads, source }),
                Err(_not_committed) => Err(BatchError::Failed(source)),
            },
        }
    }
}

#[cfg(test)]
mod tests;
