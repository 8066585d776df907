//! The way in: a command is committed with others, and its outcome returned.
//!
//! Most of the time of a small transaction is its commit, which waits for the disk. Under load, many
//! commands share one. Without load, a command is alone in its transaction, and waits for no others.

use std::{sync::Arc, time::Duration};

use ports::{Lane, RepositoryError, WriteError, WriteStore};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Command,
    batch::Batch,
    known_facts::KnownFacts,
    queued::{AnyQueued, Queued},
    writer::Writer,
};

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

/// The writes of this process: one queue, and one writer. All commands that were queued during one
/// transaction form the next one. Clones share the writer, which ends when it is closed or the last
/// clone is dropped.
#[derive(Clone)]
pub struct Writes {
    store: Arc<dyn WriteStore>,
    queue: mpsc::UnboundedSender<Arc<dyn AnyQueued>>,
    timeouts: WriteTimeouts,
    closing: CancellationToken,
    ended: CancellationToken,
}

impl Writes {
    /// Starts the writer of `store` as one of `tasks`.
    pub fn start(store: Arc<dyn WriteStore>, timeouts: WriteTimeouts, tasks: &TaskTracker) -> Self {
        let (queue, commands) = mpsc::unbounded_channel();
        let closing = CancellationToken::new();
        let ended = CancellationToken::new();
        let writer = Writer {
            store: Arc::clone(&store),
            known_facts: KnownFacts::default(),
            timeouts,
            closing: closing.clone(),
        };
        // Cancelled also if the writer panics.
        let end = ended.clone().drop_guard();
        let task = async move {
            writer.run(commands).await;
            drop(end);
        };
        store.spawn(Box::pin(tasks.track_future(task)));
        Self {
            store,
            queue,
            timeouts,
            closing,
            ended,
        }
    }

    /// Rejects new commands, and returns once the writer has completed the queued ones and has
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

    /// Commits `command` with the next batch, or in a transaction of its own if that would take long.
    pub async fn write<C: Command>(&self, command: C) -> Result<C::Outcome, RepositoryError> {
        if self.closing.is_cancelled() {
            return Err(unavailable("the store is closed"));
        }
        if command.is_long() {
            self.write_alone(command).await
        } else {
            self.write_in_group(command).await
        }
    }

    /// A command that waits in the queue for too long is withdrawn. Once its transaction has begun, the
    /// call waits for its outcome until the time limit; without one if this process runs a turn that
    /// the command has started.
    async fn write_in_group<C: Command>(&self, command: C) -> Result<C::Outcome, RepositoryError> {
        let submitted_at = Instant::now();
        let starts_a_turn = command.starts_a_turn();
        let (queued, mut outcome) = Queued::new(command);
        let queued = Arc::new(queued);
        // The command holds the sender of the outcome, which must be dropped with the writer.
        let waiting = Arc::downgrade(&queued);
        self.queue
            .send(queued)
            .map_err(|_closed| unavailable("the store is closed"))?;
        let queue_end = submitted_at + self.timeouts.max_queue_time;
        if let Ok(received) = timeout_at(queue_end, &mut outcome).await {
            return received.unwrap_or_else(|_ended| Err(unavailable("the writer has ended")));
        }
        if waiting.upgrade().is_some_and(|queued| queued.withdraw()) {
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

    /// The outcome of a commit that was not confirmed in time stays unknown to the caller.
    async fn write_alone<C: Command>(&self, command: C) -> Result<C::Outcome, RepositoryError> {
        let queued = Arc::new(Queued::without_caller(command));
        let command: Arc<dyn AnyQueued> = Arc::<Queued<C>>::clone(&queued);
        let batch = Batch {
            commands: [command].into(),
            in_doubt_since: None,
        };
        let written = self.store.transact(Arc::new(batch), Lane::Alone);
        let Ok(written) = timeout(self.timeouts.max_answer_time, written).await else {
            return Err(unavailable("the outcome of the write is not known in time"));
        };
        if let Err(WriteError::Failed(source) | WriteError::Unknown { source, .. }) = written {
            return Err(source);
        }
        let planned = queued.take_planned();
        planned.unwrap_or_else(|| Err(unavailable("the store decided nothing")))
    }
}

/// Returns the error of a write that did not fail by itself.
pub(crate) fn unavailable(why: &'static str) -> RepositoryError {
    RepositoryError::Unavailable(why.into())
}
