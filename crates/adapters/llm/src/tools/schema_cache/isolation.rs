//! Threads with a large stack for work with schemas of external tools, shared fairly between tenants.

use std::{
    io,
    sync::{Arc, LazyLock},
    thread,
    time::Duration,
};

use cpu_pool::{QueueLimits, TenantQueue};
use domain::TenantId;
use tokio::{
    sync::{Semaphore, oneshot},
    time::timeout,
};

/// The stack of a thread: enough for a schema of the maximum depth at every level of arguments of
/// the maximum depth. Unused stack takes no memory.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// The maximum time of a compilation. The limits of a schema allow much less.
const MAX_COMPILATION_TIME: Duration = Duration::from_secs(5);

/// The compilations that may run at the same time. They serve all tenants.
static COMPILATIONS: Semaphore = Semaphore::const_new(2);

/// The checks that may run and wait at the same time. Each waits within the time limit of its call.
static CHECKS: LazyLock<Arc<TenantQueue>> = LazyLock::new(|| {
    Arc::new(TenantQueue::new(QueueLimits {
        running: 4,
        running_of_tenant: 2,
        waiting: 4_096,
        waiting_of_tenant: 1_024,
    }))
});

/// The reason that work was not completed.
#[derive(Debug, thiserror::Error)]
pub(super) enum IsolationError {
    /// The work could not start; a later attempt may succeed.
    #[error("no thread can be started")]
    NoThread(#[source] io::Error),
    /// The queue of checks is full.
    #[error("too many checks are waiting")]
    Overloaded,
    /// The work panicked, and would panic again.
    #[error("the work panicked")]
    Panicked,
    /// The work takes too long. It continues on its thread.
    #[error("the work takes too long")]
    TimedOut,
}

/// Compiles a schema on a thread of its own.
pub(super) async fn run_compilation<T: Send + 'static>(
    compile: impl FnOnce() -> T + Send + 'static,
) -> Result<T, IsolationError> {
    run_compilation_within(MAX_COMPILATION_TIME, compile).await
}

async fn run_compilation_within<T: Send + 'static>(
    limit: Duration,
    compile: impl FnOnce() -> T + Send + 'static,
) -> Result<T, IsolationError> {
    // Released at the time limit, so that an endless compilation does not prevent all others. The
    // semaphore is never closed, so this is never an error.
    let _permit = COMPILATIONS.acquire().await;
    let compiled = timeout(limit, run_on_thread(STACK_BYTES, (), compile)).await;
    compiled.unwrap_or(Err(IsolationError::TimedOut))
}

/// Runs a check for a tenant on a thread of its own. Tenants take turns, so a tenant whose checks
/// are slow waits for itself.
pub(super) async fn run_check<T: Send + 'static>(
    tenant: &TenantId,
    check: impl FnOnce() -> T + Send + 'static,
) -> Result<T, IsolationError> {
    run_check_with_stack(STACK_BYTES, tenant, check).await
}

async fn run_check_with_stack<T: Send + 'static>(
    stack_bytes: usize,
    tenant: &TenantId,
    check: impl FnOnce() -> T + Send + 'static,
) -> Result<T, IsolationError> {
    let permit = CHECKS.enqueue(tenant).ok_or(IsolationError::Overloaded)?;
    let permit = permit
        .await
        .map_err(|_dropped| IsolationError::Overloaded)?;
    run_on_thread(stack_bytes, permit, check).await
}

/// Runs work on a thread of its own, which holds a permit until the work is done, even if the
/// caller no longer waits. Neither a task nor the end of the process waits for it.
async fn run_on_thread<T: Send + 'static>(
    stack_bytes: usize,
    permit: impl Send + 'static,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, IsolationError> {
    let (sender, receiver) = oneshot::channel();
    let started = thread::Builder::new()
        .name("schema".to_owned())
        .stack_size(stack_bytes)
        .spawn(move || {
            let _permit = permit;
            let _ = sender.send(work());
        });
    started.map_err(IsolationError::NoThread)?;
    receiver.await.map_err(|_dropped| IsolationError::Panicked)
}

#[cfg(test)]
mod tests {
    use std::panic::resume_unwind;

    use futures::future::join_all;

    use super::*;

    /// A stack that no address space can hold.
    const IMPOSSIBLE_STACK: usize = 1 << 60;

    fn tenant(name: &str) -> TenantId {
        name.parse().unwrap()
    }

    #[tokio::test]
    async fn a_panic_ends_the_work_and_frees_its_permit() {
        let tenant = tenant("panicking");
        for _ in 0..8 {
            let ended = run_check(&tenant, || resume_unwind(Box::new("a bug"))).await;
            let ended: Result<(), _> = ended;
            assert!(matches!(ended, Err(IsolationError::Panicked)), "{ended:?}");
        }
        assert!(matches!(run_check(&tenant, || 1).await, Ok(1)));
    }

    #[tokio::test]
    async fn work_that_cannot_start_holds_no_permit() {
        let tenant = tenant("unstartable");
        for _ in 0..8 {
            let ended = run_check_with_stack(IMPOSSIBLE_STACK, &tenant, || 1).await;
            assert!(
                matches!(ended, Err(IsolationError::NoThread(_))),
                "{ended:?}"
            );
        }
        assert!(matches!(run_check(&tenant, || 1).await, Ok(1)));
    }

    #[tokio::test]
    async fn slow_checks_of_a_tenant_do_not_delay_another() {
        let (hostile, other) = (tenant("hostile"), tenant("other"));
        let (release, released) = std::sync::mpsc::channel::<()>();
        let released = Arc::new(parking_lot::Mutex::new(released));
        let slow = (0..16).map(|_| {
            let released = Arc::clone(&released);
            run_check(&hostile, move || {
                let _ = released.lock().recv();
            })
        });
        let slow = join_all(slow);
        let fast = run_check(&other, || 1);
        tokio::pin!(slow, fast);
        tokio::select! {
            biased;
            _ = &mut slow => panic!("slow checks ended"),
            checked = fast => assert!(matches!(checked, Ok(1))),
        }
        drop(release);
        slow.await;
    }

    #[tokio::test]
    async fn an_endless_compilation_does_not_prevent_others() {
        let (release, released) = std::sync::mpsc::channel::<()>();
        let released = Arc::new(parking_lot::Mutex::new(released));
        for _ in 0..4 {
            let released = Arc::clone(&released);
            let endless = move || {
                let _ = released.lock().recv();
            };
            let ended = run_compilation_within(Duration::from_millis(20), endless).await;
            assert!(matches!(ended, Err(IsolationError::TimedOut)), "{ended:?}");
        }
        assert!(matches!(run_compilation(|| 1).await, Ok(1)));
        drop(release);
    }
}
