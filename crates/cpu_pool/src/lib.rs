//! Threads for CPU work that takes longer than a request thread may be blocked.
//!
//! Tenants take turns, and the jobs of each are limited: a tenant with much work waits for itself,
//! and delays another by at most one [`TimeSlice`]. On Linux the threads have a low priority, so
//! that requests are served first when all cores are busy.

mod queue;
mod time_slice;

use std::{io, num::NonZero, sync::Arc, task::Poll, thread::available_parallelism, time::Duration};

use domain::TenantId;
use tokio::{
    runtime::{Builder, Runtime},
    task::{JoinError, yield_now},
    time::timeout,
};
use tokio_util::task::AbortOnDropHandle;

pub use queue::{Permit, QueueLimits, TenantQueue};
pub use time_slice::TimeSlice;

/// The maximum time for which a job occupies a thread before other jobs continue.
const SLICE: Duration = Duration::from_millis(10);
/// The minimum number of threads: next to a job that cannot pause, other tenants have a thread.
const MIN_THREADS: usize = 2;
/// The maximum number of threads. The memory of running jobs grows with it.
const MAX_THREADS: usize = 4;
/// The size of the stack of a thread, for jobs that recurse. Only what is used takes memory.
const STACK_BYTES: usize = 64 * 1024 * 1024;
/// The maximum number of waiting jobs of one tenant.
const MAX_WAITING_OF_TENANT: usize = 32;
/// The maximum number of waiting jobs.
const MAX_WAITING: usize = 1024;
/// The maximum time for which a job waits to start.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Runs CPU work on threads of its own: half as many as there are cores, but two to four.
#[derive(Debug)]
pub struct CpuPool {
    queue: Arc<TenantQueue>,
    /// Present until the pool is dropped.
    runtime: Option<Runtime>,
}

/// The right to run one job at a time, until it is dropped.
#[derive(Debug)]
pub struct Admission {
    pool: Arc<CpuPool>,
    _permit: Permit,
}

/// The reason that a job has no result.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// The tenant should try again later.
    #[error("too many jobs of the tenant are waiting, or one waited too long")]
    Overloaded,
    /// The job panicked, or the process is stopping.
    #[error("the job did not finish")]
    Unfinished(#[from] JoinError),
}

impl CpuPool {
    /// Starts the threads.
    pub fn start() -> io::Result<Arc<Self>> {
        let cores = available_parallelism().map_or(1, NonZero::get);
        Self::with_threads((cores / 2).clamp(MIN_THREADS, MAX_THREADS))
    }

    fn with_threads(threads: usize) -> io::Result<Arc<Self>> {
        let share = (threads / 2).max(1);
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("cpu-pool")
            .thread_stack_size(STACK_BYTES)
            .on_thread_start(lower_priority)
            // New jobs are in the global queue, paused ones in a local queue. Both are polled
            // alternately, since each poll takes a whole slice.
            .global_queue_interval(1)
            .build()?;
        Ok(Arc::new(Self {
            queue: Arc::new(TenantQueue::new(QueueLimits {
                // Next to a tenant that uses all of its share, another tenant can always start a
                // job.
                running: threads + share,
                running_of_tenant: share,
                waiting: MAX_WAITING,
                waiting_of_tenant: MAX_WAITING_OF_TENANT,
            })),
            runtime: Some(runtime),
        }))
    }

    /// Waits until the tenant may start another job.
    pub async fn admit(self: &Arc<Self>, tenant: &TenantId) -> Result<Admission, PoolError> {
        let permit = self.queue.enqueue(tenant).ok_or(PoolError::Overloaded)?;
        let Ok(Ok(permit)) = timeout(MAX_WAIT, permit).await else {
            return Err(PoolError::Overloaded);
        };
        Ok(Admission {
            pool: Arc::clone(self),
            _permit: permit,
        })
    }

    /// Runs a job of the tenant that cannot pause.
    pub async fn run_once<T: Send + 'static>(
        self: &Arc<Self>,
        tenant: &TenantId,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        let admission = self.admit(tenant).await?;
        admission.spawn(async move { job() }).await
    }
}

impl Admission {
    /// Runs `job` slice by slice until it is ready. If the returned future is dropped, the job ends
    /// after its current slice.
    pub async fn run<T: Send + 'static>(
        &self,
        mut job: impl FnMut(TimeSlice) -> Poll<T> + Send + 'static,
    ) -> Result<T, PoolError> {
        let slices = async move {
            loop {
                if let Poll::Ready(result) = job(TimeSlice::new(SLICE)) {
                    return result;
                }
                yield_now().await;
            }
        };
        self.spawn(slices).await
    }

    async fn spawn<T: Send + 'static>(
        &self,
        job: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, PoolError> {
        let runtime = self.pool.runtime.as_ref();
        let runtime = runtime.unwrap_or_else(|| unreachable!("taken only when dropped"));
        Ok(AbortOnDropHandle::new(runtime.spawn(job)).await?)
    }
}

impl Drop for CpuPool {
    fn drop(&mut self) {
        // Waiting for the threads is not allowed on a thread of another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Lowers the priority of this thread. On Linux, the nice value applies to each thread.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(10) {
        tracing::warn!(%error, "cannot lower the priority of a CPU pool thread");
    }
}

#[cfg(test)]
mod tests;
