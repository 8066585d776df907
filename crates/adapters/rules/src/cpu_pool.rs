//! The threads on which rules are compiled and long messages are searched.
//!
//! Work is admitted by tenant, in turn, and runs in slices: a tenant with much work waits for
//! itself, and delays another by a slice at most.

mod queue;

use std::{num::NonZero, sync::Arc, task::Poll, thread::available_parallelism, time::Duration};

use domain::TenantId;
use tokio::{
    sync::{AcquireError, Semaphore},
    task::{JoinError, spawn_blocking},
};

use crate::slice::Slice;
use queue::{Limits, Queue};

/// The longest time for which a job holds a thread before others have their turn.
const SLICE: Duration = Duration::from_millis(10);
/// Most threads at work. Each job that has begun may hold a book of rules of 48 MiB.
const MOST_THREADS: usize = 4;
/// Most jobs of a tenant that wait. Each holds a message and an agent.
const WAITING_OF_TENANT: usize = 32;
/// Most jobs that wait.
const WAITING: usize = 1024;
/// The longest time for which a job waits to begin.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Runs processor work on blocking threads, on half of the cores at most.
#[derive(Debug)]
pub(crate) struct CpuPool {
    queue: Arc<Queue>,
    threads: Arc<Semaphore>,
}

/// The right to run one job at a time; ends when dropped.
#[derive(Debug)]
pub(crate) struct Admission {
    pool: Arc<CpuPool>,
    _place: queue::Place,
}

/// Why a job has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PoolError {
    #[error("too many jobs of the tenant wait, or one waited too long")]
    Overloaded,
    #[error("the process is stopping")]
    Closed(#[from] AcquireError),
    #[error("the job did not finish")]
    Unfinished(#[from] JoinError),
}

impl CpuPool {
    pub(crate) fn new() -> Self {
        let cores = available_parallelism().map_or(1, NonZero::get);
        Self::with_threads((cores / 2).clamp(1, MOST_THREADS))
    }

    fn with_threads(threads: usize) -> Self {
        let share = (threads / 2).max(1);
        Self {
            queue: Arc::new(Queue::new(Limits {
                // Besides a tenant that uses all of its share, another can always begin.
                running: threads + share,
                running_of_tenant: share,
                waiting: WAITING,
                waiting_of_tenant: WAITING_OF_TENANT,
            })),
            threads: Arc::new(Semaphore::new(threads)),
        }
    }

    /// Waits until the tenant may begin another job. Tenants take turns, and each has a bounded
    /// share.
    pub(crate) async fn admit(self: &Arc<Self>, tenant: &TenantId) -> Result<Admission, PoolError> {
        let place = self.queue.enter(tenant).ok_or(PoolError::Overloaded)?;
        let place = tokio::time::timeout(LONGEST_WAIT, place).await;
        let Ok(Ok(place)) = place else {
            return Err(PoolError::Overloaded);
        };
        Ok(Admission {
            pool: Arc::clone(self),
            _place: place,
        })
    }
}

impl Admission {
    /// Runs `job` slice by slice until it is ready. When the caller stops waiting, it ends after
    /// the present slice.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        mut job: impl FnMut(Slice) -> Poll<T> + Send + 'static,
    ) -> Result<T, PoolError> {
        loop {
            // First come, first served among the jobs that have begun is each in turn.
            let thread = Arc::clone(&self.pool.threads).acquire_owned().await?;
            let slice = spawn_blocking(move || {
                let progress = job(Slice::new(SLICE));
                drop(thread);
                (job, progress)
            });
            match slice.await? {
                (_, Poll::Ready(result)) => return Ok(result),
                (unfinished, Poll::Pending) => job = unfinished,
            }
        }
    }
}

#[cfg(test)]
mod tests;
