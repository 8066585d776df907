//! Group commit: one writer for the turns, agents, conversations and credentials of a process. All
//! writes that were queued during one transaction form the next one.
//!
//! Most of the time of a small transaction is its commit, which waits for the disk. Under load, many
//! writes share one. Without load, a write is alone in its transaction, and waits for no others.

mod known_facts;
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
    time::{Instant, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{known_facts::KnownFacts, writer::Writer};
use crate::{Facts, FactsQuery, Outcomes, Rows, WriteOp, WriteOutcome};

/// The heads of the tenants' logs before an attempt whose commit outcome is unknown.
pub type HeadsBefore = BTreeMap<TenantId, Seq>;

/// The failure of a batch.
#[derive(Debug)]
pub enum BatchError {
    /// Nothing was written.
    Failed(RepositoryError),
    /// The database did not confirm the commit, so its outcome is unknown.
    Unknown {
        /// The heads of the logs when the transaction had locked them.
        heads: HeadsBefore,
        /// The error of the commit.
        source: RepositoryError,
    },
}

impl From<RepositoryError> for BatchError {
    fn from(error: RepositoryError) -> Self {
        Self::Failed(error)
    }
}

/// A committed batch.
#[derive(Debug)]
pub struct CommittedBatch {
    /// One outcome for each write.
    pub outcomes: Outcomes,
    /// The facts that the transaction read.
    pub facts: Facts,
    /// The rows that it wrote.
    pub rows: Rows,
}

/// A batch that was decided on facts which this process knew without reading them.
#[derive(Debug)]
pub struct PlannedBatch {
    /// The number of writes.
    pub writes: usize,
    /// The keys of the facts.
    pub query: FactsQuery,
    /// The facts: the heads, nodes, idempotency keys, names and credentials among them are the
    /// conditions under which all others hold.
    pub facts: Facts,
    /// The rows to write.
    pub rows: Rows,
}

/// A store that can commit a batch.
#[async_trait]
pub trait BatchStore: Send + 'static {
    /// Executes `ops` in one transaction: locks their tenants, reads [`crate::Facts`], calls
    /// [`crate::plan()`] and writes the rows. MUST return one outcome per write, within a few
    /// seconds. With `in_doubt_since`, MUST use a new connection, and look for the events of an
    /// earlier attempt after those heads.
    async fn commit(
        &mut self,
        ops: Arc<[WriteOp]>,
        in_doubt_since: Option<&HeadsBefore>,
    ) -> Result<CommittedBatch, BatchError>;

    /// Reads the heads of the tenants and the versions of the agents of `query` at one point in
    /// time, in one round trip and without a lock. Returns `None` if that is not cheaper than
    /// [`Self::commit`].
    async fn read_ahead(&mut self, _query: &FactsQuery) -> Result<Option<Facts>, BatchError> {
        Ok(None)
    }

    /// Writes the rows of `batch` in one round trip and returns true, if the heads of its tenants
    /// are those of its facts, its nodes are alive, its idempotency keys and names are unused, and the
    /// credentials of its facts exist and are not revoked. MUST check that under the tenant lock.
    /// MUST write nothing and return false otherwise.
    async fn commit_if_current(&mut self, batch: Arc<PlannedBatch>) -> Result<bool, BatchError>;
}

/// The time limits of a writer.
#[derive(Debug, Clone, Copy)]
pub struct WriteTimeouts {
    /// The maximum time for which a write waits in the queue.
    pub max_queue_time: Duration,
    /// The maximum time until the caller of a write gets an answer, even if the outcome is unknown.
    /// The writer then still completes the write.
    pub max_answer_time: Duration,
    /// The time after which a failed attempt shows that the store hangs. All queued writes then
    /// fail, too.
    pub hang_threshold: Duration,
    /// The maximum time for which a commit with an unknown outcome is retried.
    pub max_doubt_time: Duration,
    /// The first pause between such retries; it doubles up to one second.
    pub first_retry_pause: Duration,
}

impl Default for WriteTimeouts {
    fn default() -> Self {
        Self {
            max_queue_time: Duration::from_millis(4_500),
            max_answer_time: Duration::from_millis(4_750),
            hang_threshold: Duration::from_secs(1),
            max_doubt_time: Duration::from_secs(10),
            first_retry_pause: Duration::from_millis(50),
        }
    }
}

// The writer takes an entry, and a caller whose time is over withdraws it. Both change `QUEUED`, so
// only one of them succeeds: a write that its caller reports as failed in the queue never runs.
const QUEUED: u8 = 0;
const TAKEN: u8 = 1;
const WITHDRAWN: u8 = 2;

struct QueuedOp {
    op: WriteOp,
    state: Arc<AtomicU8>,
    outcome_sender: oneshot::Sender<Result<WriteOutcome, RepositoryError>>,
}

impl QueuedOp {
    /// Marks the write as taken, unless it was withdrawn. From then on it cannot be withdrawn.
    fn take(&self) -> bool {
        self.state
            .compare_exchange(QUEUED, TAKEN, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

/// The queue of the writer. Clones share the writer, which ends when it is closed or the last
/// clone is dropped.
#[derive(Clone)]
pub struct GroupCommit {
    queue: mpsc::UnboundedSender<QueuedOp>,
    timeouts: WriteTimeouts,
    closing: CancellationToken,
    ended: CancellationToken,
}

impl GroupCommit {
    /// Starts the writer as a task of `tasks` on `runtime`.
    pub fn start(
        store: impl BatchStore,
        timeouts: WriteTimeouts,
        tasks: &TaskTracker,
        runtime: &Handle,
    ) -> Self {
        let (queue, entries) = mpsc::unbounded_channel();
        let closing = CancellationToken::new();
        let writer = Writer {
            store,
            known_facts: KnownFacts::default(),
            timeouts,
            closing: closing.clone(),
        };
        let ended = CancellationToken::new();
        // Cancelled also if the writer panics.
        let end = ended.clone().drop_guard();
        let task = async move {
            writer.run(entries).await;
            drop(end);
        };
        tasks.spawn_on(task, runtime);
        Self {
            queue,
            timeouts,
            closing,
            ended,
        }
    }

    /// Rejects new writes, and returns once the writer has completed the queued ones and has
    /// ended.
    pub async fn close(&self) {
        self.closing.cancel();
        self.ended.cancelled().await;
    }

    /// Returns `Unavailable` if the writer has ended for any reason.
    pub fn check(&self) -> Result<(), RepositoryError> {
        if self.ended.is_cancelled() {
            return Err(unavailable("the writer has ended"));
        }
        Ok(())
    }

    /// Commits `op` with the next batch. A write that waits in the queue for too long is withdrawn.
    /// Once its transaction has begun, the call waits for its outcome until the time limit; without one
    /// if this process runs a turn that the write has started.
    pub async fn submit(&self, op: WriteOp) -> Result<WriteOutcome, RepositoryError> {
        let submitted_at = Instant::now();
        let starts_a_turn = op.starts_a_turn();
        let state = Arc::new(AtomicU8::new(QUEUED));
        let (outcome_sender, mut outcome) = oneshot::channel();
        let entry = QueuedOp {
            op,
            state: Arc::clone(&state),
            outcome_sender,
        };
        self.queue
            .send(entry)
            .map_err(|_closed| unavailable("the store is closed"))?;
        let queue_end = submitted_at + self.timeouts.max_queue_time;
        if let Ok(received) = timeout_at(queue_end, &mut outcome).await {
            return received.unwrap_or_else(|_ended| Err(unavailable("the writer has ended")));
        }
        let withdrawn =
            state.compare_exchange(QUEUED, WITHDRAWN, Ordering::AcqRel, Ordering::Acquire);
        if withdrawn.is_ok() {
            return Err(unavailable("the writer was busy for too long"));
        }
        let received = if starts_a_turn {
            outcome.await
        } else {
            let answer_end = submitted_at + self.timeouts.max_answer_time;
            let Ok(received) = timeout_at(answer_end, outcome).await else {
                return Err(unavailable("the outcome of the write is not known in time"));
            };
            received
        };
        received.unwrap_or_else(|_ended| Err(unavailable("the writer has ended")))
    }
}

/// Returns the error of a write that did not fail by itself.
fn unavailable(why: &'static str) -> RepositoryError {
    RepositoryError::Unavailable(why.into())
}

#[cfg(test)]
mod tests;
