//! Commits a batch once.

use std::sync::Arc;

use ports::{ConditionalRows, Conditions, Facts, FactsQuery, Lane, Rows, WriteError};

use super::Writer;
use crate::{batch::Batch, known_facts::KnownFacts};

impl Writer {
    /// Commits once. Forgets all known facts after the loss of a connection: the next one may lead to a
    /// server that lacks the last commits, where an equal head proves nothing.
    pub(super) async fn commit(&mut self, batch: &Batch) -> Result<(), WriteError> {
        let result = self.write(batch).await;
        if result.as_ref().is_err_and(may_be_lost) {
            self.known_facts = KnownFacts::default();
        }
        result
    }

    /// Commits with known facts if possible, otherwise with facts that the store reads.
    async fn write(&mut self, batch: &Batch) -> Result<(), WriteError> {
        if self.write_with_known_facts(batch).await? {
            return Ok(());
        }
        let decision = Arc::new(batch.clone());
        let written = self.store.transact(decision, Lane::Group).await?;
        self.known_facts.record(&written.facts, &written.rows);
        Ok(())
    }

    /// Returns false if nothing was written: the facts are not known or outdated, or a command is not
    /// applied according to them.
    async fn write_with_known_facts(&mut self, batch: &Batch) -> Result<bool, WriteError> {
        let Some((facts, conditions)) = self.find_facts(batch).await? else {
            return Ok(false);
        };
        let (rows, all_applied) = batch.plan(&facts);
        // Any other outcome writes nothing, and so nothing that checks the facts: the store decides it.
        if !all_applied || !rows.released.is_empty() {
            return Ok(false);
        }
        let write = Arc::new(ConditionalRows {
            writes: batch.commands.len(),
            conditions,
            rows,
        });
        match self.store.write_if(Arc::clone(&write)).await {
            Ok(true) => {
                self.known_facts.confirm(facts.heads.keys());
                self.known_facts.record(&facts, &write.rows);
                Ok(true)
            }
            Ok(false) => Ok(false),
            // The data of one of the writes is rejected; the store finds out which one.
            Err(WriteError::Failed(error)) if !error.is_retryable() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the facts of a batch with their conditions, if they are known, or become known with the
    /// heads and agents that the store reads ahead.
    async fn find_facts(
        &mut self,
        batch: &Batch,
    ) -> Result<Option<(Facts, Conditions)>, WriteError> {
        let Some(first) = batch.query(0, &Facts::default()) else {
            return Ok(None);
        };
        if self.known_facts.skips_batch(&first.tenants) {
            return Ok(None);
        }
        let known = self.known_facts_of(batch, &first);
        if known.is_some() || !KnownFacts::may_read_ahead(&first) {
            return Ok(known);
        }
        let Some(read) = self.store.read_ahead(&first).await? else {
            return Ok(None);
        };
        self.known_facts.record(&read, &Rows::default());
        Ok(self.known_facts_of(batch, &first))
    }

    fn known_facts_of(&self, batch: &Batch, first: &FactsQuery) -> Option<(Facts, Conditions)> {
        let (mut facts, mut conditions) = (Facts::default(), Conditions::default());
        self.known_facts.add(first, &mut facts, &mut conditions)?;
        if let Some(more) = batch.query(1, &facts) {
            self.known_facts.add(&more, &mut facts, &mut conditions)?;
        }
        Some((facts, conditions))
    }
}

/// Returns whether the connection may be lost. It is not if the store rejected the data of a write.
const fn may_be_lost(error: &WriteError) -> bool {
    !matches!(error, WriteError::Failed(error) if !error.is_retryable())
}
