//! The task that commits the queued commands.

mod commit;

use std::{collections::VecDeque, error::Error, sync::Arc, time::Duration};

use ports::{RepositoryError, WriteError, WriteStore, error::one_line, write_store::Heads};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    batch::Batch,
    handle::{WriteTimeouts, unavailable},
    known_facts::KnownFacts,
    queued::AnyQueued,
    selection::next_batch,
};

/// Commits one batch after another.
pub(crate) struct Writer {
    pub(crate) store: Arc<dyn WriteStore>,
    pub(crate) known_facts: KnownFacts,
    pub(crate) timeouts: WriteTimeouts,
    pub(crate) closing: CancellationToken,
}

type Commands = mpsc::UnboundedReceiver<Arc<dyn AnyQueued>>;

impl Writer {
    /// Runs until the queue is closed and all of its commands are completed.
    pub(crate) async fn run(mut self, mut commands: Commands) {
        let mut queue = VecDeque::new();
        loop {
            if queue.is_empty() {
                match next(&mut commands, &self.closing).await {
                    Some(command) => queue.push_back(command),
                    None => return,
                }
            }
            while let Ok(command) = commands.try_recv() {
                queue.push_back(command);
            }
            queue.retain(|command| command.is_needed());
            let mut batch = next_batch(&mut queue);
            batch.retain(|command| command.take());
            if batch.is_empty() {
                continue;
            }
            if self.hangs_after(batch.into()).await {
                // The commands that were queued meanwhile would only wait as long again.
                while let Ok(command) = commands.try_recv() {
                    queue.push_back(command);
                }
                for command in queue.drain(..).filter(|command| command.take()) {
                    command.fail(unavailable("the store hangs"));
                }
            }
        }
    }

    /// Commits a batch and completes its commands. Returns whether the store seems to hang.
    async fn hangs_after(&mut self, commands: Arc<[Arc<dyn AnyQueued>]>) -> bool {
        let started_at = Instant::now();
        let all_unavailable = self.complete(commands).await;
        all_unavailable && started_at.elapsed() >= self.timeouts.hang_threshold
    }

    /// Commits a batch and completes its commands. Returns whether the store was unavailable for all.
    async fn complete(&mut self, commands: Arc<[Arc<dyn AnyQueued>]>) -> bool {
        let batch = Batch {
            commands,
            in_doubt_since: None,
        };
        let BatchFailure {
            error,
            in_doubt_since,
        } = match self.commit_until_known(&batch).await {
            Ok(()) => return false,
            Err(failure) => failure,
        };
        let commands = batch.commands;
        if error.is_retryable() || commands.len() == 1 {
            let is_retryable = error.is_retryable();
            fail_all(error, &commands);
            return is_retryable;
        }
        // The store rejected the data of one command, which must not make the others fail.
        tracing::warn!(
            error = one_line(&error),
            items = commands.len(),
            "batch failed; committing its writes one by one"
        );
        self.complete_singly(&commands, in_doubt_since).await
    }

    /// Commits commands one by one, so that one whose data is rejected fails alone. Returns whether the
    /// store was unavailable for all.
    async fn complete_singly(
        &mut self,
        commands: &[Arc<dyn AnyQueued>],
        in_doubt_since: Option<Heads>,
    ) -> bool {
        for (index, command) in commands.iter().enumerate() {
            let batch = Batch {
                commands: [Arc::clone(command)].into(),
                in_doubt_since: in_doubt_since.clone(),
            };
            match self.commit_until_known(&batch).await {
                Ok(()) => {}
                Err(failure) if failure.error.is_retryable() => {
                    fail_all(failure.error, &commands[index..]);
                    return index == 0;
                }
                Err(failure) => command.fail(failure.error),
            }
        }
        false
    }

    /// Commits, and repeats the commit until its outcome is known or the time limit is reached: an error
    /// at once would make callers repeat writes that may be stored. Then delivers the outcomes.
    async fn commit_until_known(&mut self, batch: &Batch) -> Result<(), BatchFailure> {
        let started_at = Instant::now();
        let mut batch = batch.clone();
        let mut pause = self.timeouts.first_retry_pause;
        let result = loop {
            let error = match self.commit(&batch).await {
                Ok(()) => break Ok(()),
                Err(WriteError::Failed(error))
                    if batch.in_doubt_since.is_none() || !error.is_retryable() =>
                {
                    break Err(error);
                }
                Err(WriteError::Failed(error)) => error,
                Err(WriteError::Unknown { heads, source }) => {
                    // The events of the first attempt follow its own heads, so these are kept.
                    batch.in_doubt_since.get_or_insert(heads);
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
        metrics::histogram!("store_batch_items").record(batch.commands.len() as f64);
        metrics::histogram!("store_batch_seconds").record(started_at.elapsed());
        if result.is_ok() {
            for command in batch.commands.iter() {
                command.deliver();
            }
        }
        result.map_err(|error| BatchFailure {
            error,
            in_doubt_since: batch.in_doubt_since,
        })
    }
}

/// Returns the next command; `None` once the queue is closed and empty.
async fn next(commands: &mut Commands, closing: &CancellationToken) -> Option<Arc<dyn AnyQueued>> {
    tokio::select! {
        command = commands.recv() => return command,
        () = closing.cancelled() => commands.close(),
    }
    commands.recv().await
}

/// The failure of a batch. `in_doubt_since` is set if an attempt may have been committed.
struct BatchFailure {
    error: RepositoryError,
    in_doubt_since: Option<Heads>,
}

/// Completes every command with the same error, with all its causes.
fn fail_all(error: RepositoryError, commands: &[Arc<dyn AnyQueued>]) {
    match error {
        RepositoryError::Unavailable(source) => {
            let source: Arc<dyn Error + Send + Sync> = source.into();
            for command in commands {
                command.fail(RepositoryError::Unavailable(Box::new(Arc::clone(&source))));
            }
        }
        // Any other error belongs to a single command.
        error => {
            if let [command] = commands {
                command.fail(error);
            }
        }
    }
}

/// Converts the error of a write with an unknown outcome to `Unavailable`.
fn as_unavailable(error: RepositoryError) -> RepositoryError {
    match error {
        RepositoryError::Unavailable(_) => error,
        error => RepositoryError::Unavailable(error.into()),
    }
}

#[cfg(test)]
mod tests;
