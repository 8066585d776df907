//! One attempt to commit a batch.

use std::sync::Arc;

use super::Writer;
use crate::{
    Facts, FactsQuery, Outcomes, Plan, Rows, WriteOp, WriteOutcome,
    group_commit::{BatchError, BatchStore, HeadsBefore, PlannedBatch, known_facts::KnownFacts},
    plan,
};

impl<S: BatchStore> Writer<S> {
    /// Commits once: with known facts if possible, otherwise with facts that the store reads.
    pub(super) async fn attempt(
        &mut self,
        ops: &Arc<[WriteOp]>,
        in_doubt_since: Option<&HeadsBefore>,
    ) -> Result<Outcomes, BatchError> {
        if let Some(outcomes) = self.attempt_with_known_facts(ops, in_doubt_since).await? {
            return Ok(outcomes);
        }
        let result = self.store.commit(Arc::clone(ops), in_doubt_since).await;
        match &result {
            Ok(batch) => self.known_facts.record(&batch.facts, &batch.rows),
            Err(error) => self.forget_after(error),
        }
        result.map(|batch| batch.outcomes)
    }

    /// Returns `None` if nothing was written: the facts are not known or outdated, or a write is
    /// not applied according to them.
    async fn attempt_with_known_facts(
        &mut self,
        ops: &[WriteOp],
        in_doubt_since: Option<&HeadsBefore>,
    ) -> Result<Option<Outcomes>, BatchError> {
        let query = FactsQuery::new(ops, in_doubt_since);
        let Some(facts) = self.find_facts(ops, &query).await? else {
            return Ok(None);
        };
        let Plan { rows, outcomes } = plan(ops, &facts);
        let is_applied = |outcome: &Result<WriteOutcome, _>| {
            outcome.as_ref().is_ok_and(WriteOutcome::is_applied)
        };
        // Any other outcome writes nothing, and so nothing that checks the facts: the store decides it.
        if !outcomes.iter().all(is_applied) || !rows.released.is_empty() {
            return Ok(None);
        }
        let batch = Arc::new(PlannedBatch {
            writes: ops.len(),
            query,
            facts,
            rows,
        });
        let result = self.store.commit_if_current(Arc::clone(&batch)).await;
        match result {
            Ok(true) => {
                self.known_facts.confirm(batch.facts.heads.keys());
                self.known_facts.record(&batch.facts, &batch.rows);
                Ok(Some(outcomes))
            }
            Ok(false) => Ok(None),
            // The data of one of the writes is rejected; the store finds out which one.
            Err(BatchError::Failed(error)) if !error.is_retryable() => Ok(None),
            Err(error) => {
                self.forget_after(&error);
                Err(error)
            }
        }
    }

    /// Forgets everything after the loss of a connection: the next one may lead to a server that
    /// lacks the last commits, where an equal head proves nothing.
    fn forget_after(&mut self, error: &BatchError) {
        if !matches!(error, BatchError::Failed(error) if !error.is_retryable()) {
            self.known_facts = KnownFacts::default();
        }
    }

    /// Returns the facts of `query` if they are known, or become known with the heads and agents
    /// that the store reads ahead.
    async fn find_facts(
        &mut self,
        ops: &[WriteOp],
        query: &FactsQuery,
    ) -> Result<Option<Facts>, BatchError> {
        if self.known_facts.skips_batch(&query.tenants) {
            return Ok(None);
        }
        let known = self.known_facts.find(ops, query);
        if known.is_some() || !KnownFacts::may_read_ahead(ops, query) {
            return Ok(known);
        }
        let Some(read) = self.store.read_ahead(query).await? else {
            return Ok(None);
        };
        self.known_facts.record(&read, &Rows::default());
        Ok(self.known_facts.find(ops, query))
    }
}
