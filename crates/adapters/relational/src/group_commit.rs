//! One writer for all chats of a process: whatever queued up while the last transaction was
//! committing goes into the next one.

mod writer;

use std::{
    collections::BTreeMap,
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
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::writer::Writer;
use crate::{Item, Outcome, Outcomes};

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
        items: Arc<[Item]>,
        doubt: Option<&HeadsBefore>,
    ) -> Result<Outcomes, BatchError>;
}

/// How long a writer goes on.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// How long a call waits for its turn to be written.
    pub queued: Duration,
    /// An attempt that is given up only after this time tells that the store hangs: then whatever
    /// waits is given up too.
    pub hanging: Duration,
    /// How long a commit without an answer is repeated.
    pub in_doubt: Duration,
    /// The first pause between such repeats; it doubles up to a second.
    pub pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            queued: Duration::from_millis(4_500),
            hanging: Duration::from_secs(1),
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

impl Entry {
    /// Whether the item can still be begun; from then on it cannot be withdrawn.
    fn take(&self) -> bool {
        self.state
            .compare_exchange(QUEUED, TAKEN, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

/// Hands items to the writer. Clones share it; it ends when it is closed or the last one is
/// dropped.
#[derive(Clone)]
pub struct GroupCommit {
    queue: mpsc::UnboundedSender<Entry>,
    patience: Patience,
    closing: CancellationToken,
    ended: CancellationToken,
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
        let ended = CancellationToken::new();
        // Told also when the writer panics.
        let end = ended.clone().drop_guard();
        let task = async move {
            writer.run(entries).await;
            drop(end);
        };
        tasks.spawn_on(task, runtime);
        Self {
            queue,
            patience,
            closing,
            ended,
        }
    }

    /// Takes no more items, and returns when the writer has answered those it was handed and has
    /// ended.
    pub async fn close(&self) {
        self.closing.cancel();
        self.ended.cancelled().await;
    }

    /// Whether there is a writer: `Unavailable` when it has ended, for whatever reason.
    pub fn check(&self) -> Result<(), RepositoryError> {
        if self.ended.is_cancelled() {
            return Err(unavailable("the writer has ended"));
        }
        Ok(())
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
fn unavailable(why: &'static str) -> RepositoryError {
    RepositoryError::Unavailable(why.into())
}

#[cfg(test)]
mod tests;
