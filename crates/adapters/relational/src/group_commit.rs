//! One writer for all chats of a process: whatever queued up while the last transaction was
//! committing goes into the next one.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use domain::{Seq, TenantId};
use ports::RepositoryError;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{Item, Outcome, batch, item::Outcomes};

/// Heads of the tenants' logs before an attempt whose commit got no answer.
pub type HeadsBefore = BTreeMap<TenantId, Seq>;

/// Why a batch has no outcomes.
#[derive(Debug)]
pub enum BatchError {
    /// Nothing was written.
    Failed(RepositoryError),
    /// The commit got no answer.
    Unknown {
        /// Where the logs stood when the transaction had locked them.
        heads: HeadsBefore,
        /// Why there was none.
        source: RepositoryError,
    },
}

impl From<RepositoryError> for BatchError {
    fn from(error: RepositoryError) -> Self {
        Self::Failed(error)
    }
}

/// A store that commits a batch.
#[async_trait]
pub trait BatchStore: Send + 'static {
    /// Carries out `items` in one transaction: locks their tenants, reads [`crate::Facts`], has
    /// [`crate::plan()`] decide and writes the rows. MUST answer one outcome an item, and within a
    /// few seconds. With `doubt`, MUST use a new connection, and look for what an earlier attempt
    /// has done after those heads.
    async fn commit(
        &mut self,
        items: &[Item],
        doubt: Option<&HeadsBefore>,
    ) -> Result<Outcomes, BatchError>;
}

/// How long a writer goes on.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// How long a call waits for its turn to be written.
    pub queued: Duration,
    /// How long a commit without an answer is repeated.
    pub in_doubt: Duration,
    /// The first pause between such repeats; it doubles up to a second.
    pub pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            queued: Duration::from_secs(5),
            in_doubt: Duration::from_secs(10),
            pause: Duration::from_millis(50),
        }
    }
}

const QUEUED: u8 = 0;
const TAKEN: u8 = 1;
const WITHDRAWN: u8 = 2;

struct Entry {
    item: Item,
    state: Arc<AtomicU8>,
    answer: oneshot::Sender<Result<Outcome, RepositoryError>>,
}

/// Hands items to the writer. Clones share it; it ends when it is closed or the last one is
/// dropped.
#[derive(Clone)]
pub struct GroupCommit {
    queue: mpsc::UnboundedSender<Entry>,
    patience: Patience,
    closing: CancellationToken,
}

impl GroupCommit {
    /// Starts the writer as a task of `tasks` on `runtime`.
    pub fn start(
        store: impl BatchStore,
        patience: Patience,
        tasks: &TaskTracker,
        runtime: &Handle,
    ) -> Self {
        let (queue, entries) = mpsc::unbounded_channel();
        let closing = CancellationToken::new();
        let writer = Writer {
            store,
            patience,
            closing: closing.clone(),
        };
        tasks.spawn_on(writer.run(entries), runtime);
        Self {
            queue,
            patience,
            closing,
        }
    }

    /// Takes no more items, and has the writer end once it has answered those it was handed.
    pub fn close(&self) {
        self.closing.cancel();
    }

    /// Has `item` carried out. It may be withdrawn as long as nobody has begun with it; from then
    /// on its outcome is awaited, since nobody else could learn it.
    pub async fn submit(&self, item: Item) -> Result<Outcome, RepositoryError> {
        let state = Arc::new(AtomicU8::new(QUEUED));
        let (answer, mut outcome) = oneshot::channel();
        let entry = Entry {
            item,
            state: Arc::clone(&state),
            answer,
        };
        self.queue
            .send(entry)
            .map_err(|_closed| unavailable("the store is closed"))?;
        if let Ok(answer) = tokio::time::timeout(self.patience.queued, &mut outcome).await {
            return answer.unwrap_or_else(|_ended| Err(unavailable("the writer has ended")));
        }
        let withdrawn =
            state.compare_exchange(QUEUED, WITHDRAWN, Ordering::AcqRel, Ordering::Acquire);
        if withdrawn.is_ok() {
            return Err(unavailable("the writer was busy for too long"));
        }
        outcome
            .await
            .unwrap_or_else(|_ended| Err(unavailable("the writer has ended")))
    }
}

/// The error of an item that met no error of its own.
fn unavailable(why: impl std::fmt::Display) -> RepositoryError {
    RepositoryError::Unavailable(why.to_string().into())
}

struct Writer<S> {
    store: S,
    patience: Patience,
    closing: CancellationToken,
}

impl<S: BatchStore> Writer<S> {
    async fn run(mut self, mut entries: mpsc::UnboundedReceiver<Entry>) {
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
            self.write(batch).await;
        }
    }

    async fn write(&mut self, batch: Vec<Entry>) {
        let (items, answers): (Vec<_>, Vec<_>) = batch
            .into_iter()
            .filter(Entry::take)
            .map(|entry| (entry.item, entry.answer))
            .unzip();
        if items.is_empty() {
            return;
        }
        let outcomes = self.outcomes(&items).await;
        for (answer, outcome) in answers.into_iter().zip(outcomes) {
            // A caller that went away reads the state of its turn when it comes back.
            drop(answer.send(outcome));
        }
    }

    async fn outcomes(&mut self, items: &[Item]) -> Outcomes {
        let Undone { error, doubt } = match self.settle(items, None).await {
            Ok(outcomes) => return outcomes,
            Err(undone) => undone,
        };
        if error.is_retryable() || items.len() == 1 {
            return same_for_all(error, items);
        }
        tracing::warn!(%error, items = items.len(), "a batch failed; its items run singly");
        let mut outcomes = Vec::with_capacity(items.len());
        for item in items {
            match self
                .settle(std::slice::from_ref(item), doubt.as_ref())
                .await
            {
                Ok(single) => outcomes.extend(single),
                Err(undone) => outcomes.push(Err(undone.error)),
            }
        }
        outcomes
    }

    /// Commits once, or as often as it takes to learn whether it was committed.
    async fn settle(
        &mut self,
        items: &[Item],
        doubt: Option<&HeadsBefore>,
    ) -> Result<Outcomes, Undone> {
        let begun = Instant::now();
        let mut doubt = doubt.cloned();
        let mut pause = self.patience.pause;
        let settled = loop {
            let error = match self.store.commit(items, doubt.as_ref()).await {
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
                break Err(unavailable(&error));
            }
            tracing::warn!(%error, "a commit got no answer; looking for its outcome");
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

impl Entry {
    /// Whether the item can still be begun; from then on it cannot be withdrawn.
    fn take(&self) -> bool {
        self.state
            .compare_exchange(QUEUED, TAKEN, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

fn same_for_all(error: RepositoryError, items: &[Item]) -> Outcomes {
    let text = error.to_string();
    let rest = items.iter().skip(1).map(|_| Err(unavailable(&text)));
    std::iter::once(Err(error)).chain(rest).collect()
}

#[cfg(test)]
mod tests;
