//! The task that commits the queued writes.

mod attempt;

use std::{
    collections::VecDeque,
    error::Error,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use ports::{RepositoryError, error::one_line};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    BatchError, BatchStore, HeadsBefore, QUEUED, QueuedOp, WriteTimeouts, known_facts::KnownFacts,
    unavailable,
};
use crate::{Outcomes, WriteOp, WriteOutcome, batch};

/// Commits one batch after another.
pub(super) struct Writer<S> {
    pub(super) store: S,
    pub(super) known_facts: KnownFacts,
    pub(super) timeouts: WriteTimeouts,
    pub(super) closing: CancellationToken,
}

impl<S: BatchStore> Writer<S> {
    /// Runs until the queue is closed and all of its writes are completed.
    pub(super) async fn run(mut self, mut entries: mpsc::UnboundedReceiver<QueuedOp>) {
        let mut queue = VecDeque::new();
        loop {
            if queue.is_empty() {
                match next(&mut entries, &self.closing).await {
                    Some(entry) => queue.push_back(entry),
                    None => return,
                }
            }
            while let Ok(entry) = entries.try_recv() {
                queue.push_back(entry);
            }
            // A write whose caller was dropped before it began is not needed.
            queue.retain(|entry| {
                entry.state.load(Ordering::Acquire) == QUEUED && !entry.outcome_sender.is_closed()
            });
            let batch = batch::next_batch(&mut queue, |entry| &entry.op);
            if self.write(batch).await {
                // The writes that were queued meanwhile would only wait as long again.
                while let Ok(entry) = entries.try_recv() {
                    queue.push_back(entry);
                }
                for entry in queue.drain(..).filter(QueuedOp::take) {
                    drop(
                        entry
                            .outcome_sender
                            .send(Err(unavailable("the store hangs"))),
                    );
                }
            }
        }
    }

    /// Commits a batch. Returns whether the store seems to hang.
    async fn write(&mut self, batch: Vec<QueuedOp>) -> bool {
        let (ops, senders): (Vec<_>, Vec<_>) = batch
            .into_iter()
            .filter(QueuedOp::take)
            .map(|entry| (entry.op, entry.outcome_sender))
            .unzip();
        if ops.is_empty() {
            return false;
        }
        let started_at = Instant::now();
        let outcomes = self.outcomes(ops.into()).await;
        let all_unavailable = outcomes.iter().all(is_unavailable);
        for (sender, outcome) in senders.into_iter().zip(outcomes) {
            // A caller that was dropped reads the state of its turn from the store.
            drop(sender.send(outcome));
        }
        all_unavailable && started_at.elapsed() >= self.timeouts.hang_threshold
    }

    async fn outcomes(&mut self, ops: Arc<[WriteOp]>) -> Outcomes {
        let BatchFailure {
            error,
            in_doubt_since,
        } = match self.commit_until_known(&ops, None).await {
            Ok(outcomes) => return outcomes,
            Err(failure) => failure,
        };
        if error.is_retryable() || ops.len() == 1 {
            return same_error_for_all(error, &ops);
        }
        // The store rejected the data of one write, which must not make the others fail.
        tracing::warn!(
            error = one_line(&error),
            items = ops.len(),
            "batch failed; committing its writes one by one"
        );
        let mut outcomes = Vec::with_capacity(ops.len());
        for op in ops.iter() {
            let single = [op.clone()].into();
            match self
                .commit_until_known(&single, in_doubt_since.as_ref())
                .await
            {
                Ok(single) => outcomes.extend(single),
                Err(failure) if failure.error.is_retryable() => {
                    let rest = &ops[outcomes.len()..];
                    outcomes.extend(same_error_for_all(failure.error, rest));
                    break;
                }
                Err(failure) => outcomes.push(Err(failure.error)),
            }
        }
        outcomes
    }

    /// Commits, and repeats the commit until its outcome is known or the time limit is reached. An
    /// error at once would make callers repeat writes that may be stored.
    async fn commit_until_known(
        &mut self,
        ops: &Arc<[WriteOp]>,
        in_doubt_since: Option<&HeadsBefore>,
    ) -> Result<Outcomes, BatchFailure> {
        let started_at = Instant::now();
        let mut in_doubt_since = in_doubt_since.cloned();
        let mut pause = self.timeouts.first_retry_pause;
        let result = loop {
            let error = match self.attempt(ops, in_doubt_since.as_ref()).await {
                Ok(outcomes) => break Ok(outcomes),
                Err(BatchError::Failed(error))
                    if in_doubt_since.is_none() || !error.is_retryable() =>
                {
                    break Err(error);
                }
                Err(BatchError::Failed(error)) => error,
                Err(BatchError::Unknown { heads, source }) => {
                    // The events of the first attempt follow its own heads, so these are kept.
                    in_doubt_since.get_or_insert(heads);
                    source
                }
            };
            if started_at.elapsed() + pause > self.timeouts.max_doubt_time {
                break Err(as_unavailable(error));
            }
            tracing::warn!(
                error = one_line(&error),
                "commit was not confirmed; retrying until its outcome is known"
            );
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(1));
        };
        #[expect(clippy::cast_precision_loss, reason = "a batch has hundreds of items")]
        metrics::histogram!("store_batch_items").record(ops.len() as f64);
        metrics::histogram!("store_batch_seconds").record(started_at.elapsed());
        result.map_err(|error| BatchFailure {
            error,
            in_doubt_since,
        })
    }
}

/// Returns the next write; `None` once the queue is closed and empty.
async fn next(
    entries: &mut mpsc::UnboundedReceiver<QueuedOp>,
    closing: &CancellationToken,
) -> Option<QueuedOp> {
    tokio::select! {
        entry = entries.recv() => return entry,
        () = closing.cancelled() => entries.close(),
    }
    entries.recv().await
}

/// The failure of a batch. `in_doubt_since` is set if an attempt may have been committed.
struct BatchFailure {
    error: RepositoryError,
    in_doubt_since: Option<HeadsBefore>,
}

fn is_unavailable(outcome: &Result<WriteOutcome, RepositoryError>) -> bool {
    matches!(outcome, Err(error) if error.is_retryable())
}

/// Returns the same error, with all its causes, for every write.
fn same_error_for_all(error: RepositoryError, ops: &[WriteOp]) -> Outcomes {
    match error {
        RepositoryError::Unavailable(source) => {
            let source: Arc<dyn Error + Send + Sync> = source.into();
            let shared = || RepositoryError::Unavailable(Box::new(Arc::clone(&source)));
            ops.iter().map(|_| Err(shared())).collect()
        }
        // Any other error is returned for a single write only.
        error => vec![Err(error)],
    }
}

/// Converts the error of a write with an unknown outcome to `Unavailable`.
fn as_unavailable(error: RepositoryError) -> RepositoryError {
    match error {
        RepositoryError::Unavailable(_) => error,
        error => RepositoryError::Unavailable(error.into()),
    }
}
