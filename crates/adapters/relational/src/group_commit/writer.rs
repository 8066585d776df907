//! The task that writes.

use std::{
    collections::VecDeque,
    error::Error,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use ports::{RepositoryError, error::chain};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{BatchError, BatchStore, Entry, HeadsBefore, Patience, QUEUED, unavailable};
use crate::{Item, Outcome, Outcomes, batch};

/// Writes one batch after the other.
pub(super) struct Writer<S> {
    pub(super) store: S,
    pub(super) patience: Patience,
    pub(super) closing: CancellationToken,
}

impl<S: BatchStore> Writer<S> {
    /// Ends when there will be no more entries and all have been answered.
    pub(super) async fn run(mut self, mut entries: mpsc::UnboundedReceiver<Entry>) {
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
            // A caller that went away before its item began has no use for it.
            queue.retain(|entry| {
                entry.state.load(Ordering::Acquire) == QUEUED && !entry.answer.is_closed()
            });
            let batch = batch::form(&mut queue, |entry| &entry.item);
            if self.write(batch).await {
                // What waited meanwhile would only wait as long again.
                while let Ok(entry) = entries.try_recv() {
                    queue.push_back(entry);
                }
                for entry in queue.drain(..).filter(Entry::take) {
                    drop(entry.answer.send(Err(unavailable("the store hangs"))));
                }
            }
        }
    }

    /// Answers whether the store seems to hang.
    async fn write(&mut self, batch: Vec<Entry>) -> bool {
        let (items, answers): (Vec<_>, Vec<_>) = batch
            .into_iter()
            .filter(Entry::take)
            .map(|entry| (entry.item, entry.answer))
            .unzip();
        if items.is_empty() {
            return false;
        }
        let begun = Instant::now();
        let outcomes = self.outcomes(items.into()).await;
        let is_away = outcomes.iter().all(is_unavailable);
        for (answer, outcome) in answers.into_iter().zip(outcomes) {
            // A caller that went away reads the state of its turn when it comes back.
            drop(answer.send(outcome));
        }
        is_away && begun.elapsed() >= self.patience.hanging
    }

    async fn outcomes(&mut self, items: Arc<[Item]>) -> Outcomes {
        let Undone { error, doubt } = match self.settle(&items, None).await {
            Ok(outcomes) => return outcomes,
            Err(undone) => undone,
        };
        if error.is_retryable() || items.len() == 1 {
            return same_for_all(error, &items);
        }
        tracing::warn!(
            error = chain(&error),
            items = items.len(),
            "a batch failed; its items run singly"
        );
        let mut outcomes = Vec::with_capacity(items.len());
        for item in items.iter() {
            let single = [item.clone()].into();
            match self.settle(&single, doubt.as_ref()).await {
                Ok(single) => outcomes.extend(single),
                Err(undone) if undone.error.is_retryable() => {
                    let rest = &items[outcomes.len()..];
                    outcomes.extend(same_for_all(undone.error, rest));
                    break;
                }
                Err(undone) => outcomes.push(Err(undone.error)),
            }
        }
        outcomes
    }

    /// Commits once, or as often as it takes to learn whether it was committed.
    async fn settle(
        &mut self,
        items: &Arc<[Item]>,
        doubt: Option<&HeadsBefore>,
    ) -> Result<Outcomes, Undone> {
        let begun = Instant::now();
        let mut doubt = doubt.cloned();
        let mut pause = self.patience.pause;
        let settled = loop {
            let error = match self.store.commit(Arc::clone(items), doubt.as_ref()).await {
                Ok(outcomes) => break Ok(outcomes),
                Err(BatchError::Failed(error)) if doubt.is_none() || !error.is_retryable() => {
                    break Err(error);
                }
                Err(BatchError::Failed(error)) => error,
                Err(BatchError::Unknown { heads, source }) => {
                    // The first attempt's heads: what it wrote lies after them.
                    doubt.get_or_insert(heads);
                    source
                }
            };
            if begun.elapsed() + pause > self.patience.in_doubt {
                break Err(out_of_reach(error));
            }
            tracing::warn!(
                error = chain(&error),
                "a commit got no answer; looking for its outcome"
            );
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(1));
        };
        #[expect(clippy::cast_precision_loss, reason = "a batch has hundreds of items")]
        metrics::histogram!("store_batch_items").record(items.len() as f64);
        metrics::histogram!("store_batch_seconds").record(begun.elapsed());
        settled.map_err(|error| Undone { error, doubt })
    }
}

/// The next item; none when there will not be any.
async fn next(
    entries: &mut mpsc::UnboundedReceiver<Entry>,
    closing: &CancellationToken,
) -> Option<Entry> {
    tokio::select! {
        entry = entries.recv() => return entry,
        () = closing.cancelled() => entries.close(),
    }
    entries.recv().await
}

/// Items without outcomes, and since when an attempt at them is in doubt.
struct Undone {
    error: RepositoryError,
    doubt: Option<HeadsBefore>,
}

fn is_unavailable(outcome: &Result<Outcome, RepositoryError>) -> bool {
    matches!(outcome, Err(error) if error.is_retryable())
}

/// Gives every item the same error, with all its causes.
fn same_for_all(error: RepositoryError, items: &[Item]) -> Outcomes {
    match error {
        RepositoryError::Unavailable(source) => {
            let source: Arc<dyn Error + Send + Sync> = source.into();
            let shared = || RepositoryError::Unavailable(Box::new(Arc::clone(&source)));
            items.iter().map(|_| Err(shared())).collect()
        }
        // Any other one is that of a single item.
        error => vec![Err(error)],
    }
}

/// What nobody could learn the outcome of is `Unavailable`, whatever stood in the way.
fn out_of_reach(error: RepositoryError) -> RepositoryError {
    match error {
        RepositoryError::Unavailable(_) => error,
        error => RepositoryError::Unavailable(error.into()),
    }
}
