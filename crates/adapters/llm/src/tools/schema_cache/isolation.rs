//! Limits on the stack and the time of work with schemas of external tools.

use std::{
    any::Any,
    cell::Cell,
    io,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
    time::Instant,
};

use jsonschema::{Keyword, ValidationError};
use serde_json::Value;
use tokio::sync::{Semaphore, oneshot};

/// The stack of a thread: enough for a schema of the maximum depth at every level of arguments of
/// the maximum depth. Unused stack takes no memory.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// The threads that may run at the same time: each has a stack and the memory of its work.
static THREADS: Semaphore = Semaphore::const_new(4);

/// The reason that work was not completed.
#[derive(Debug, thiserror::Error)]
pub(super) enum IsolationError {
    /// No thread could be started; a later attempt may succeed.
    #[error("no thread can be started")]
    NoThread(#[source] io::Error),
    /// The work panicked, and would panic again.
    #[error("the work panicked")]
    Panicked,
}

/// Runs work on a thread of its own. Neither a task nor the end of the process waits for it.
pub(super) async fn run_isolated<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, IsolationError> {
    run_isolated_with_stack(STACK_BYTES, work).await
}

async fn run_isolated_with_stack<T: Send + 'static>(
    stack_bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, IsolationError> {
    // The semaphore is never closed, so this is never an error.
    let permit = THREADS.acquire().await;
    let (sender, receiver) = oneshot::channel();
    let started = thread::Builder::new()
        .name("schema".to_owned())
        .stack_size(stack_bytes)
        .spawn(move || {
            // Held until the work is done, even if the caller no longer waits.
            let _permit = permit;
            let _ = sender.send(work());
        });
    started.map_err(IsolationError::NoThread)?;
    receiver.await.map_err(|_dropped| IsolationError::Panicked)
}

thread_local! {
    /// The deadline of the check on this thread.
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// A check was not completed before its deadline.
#[derive(Debug)]
pub(super) struct DeadlineExceeded;

/// Runs a check on this thread until a deadline. It is stopped by unwinding: the library cannot be
/// interrupted and continues after a violation if there are alternatives.
pub(super) fn run_until<T>(
    deadline: Instant,
    check: impl FnOnce() -> T,
) -> Result<T, DeadlineExceeded> {
    DEADLINE.set(Some(deadline));
    let checked = catch_unwind(AssertUnwindSafe(check));
    DEADLINE.set(None);
    checked.or_else(|reason: Box<dyn Any + Send>| match reason.downcast() {
        Ok(exceeded) => Err(*exceeded),
        Err(reason) => resume_unwind(reason),
    })
}

/// The keyword in every subschema, which ends the check at its deadline.
pub(super) struct DeadlineKeyword;

impl DeadlineKeyword {
    fn enforce() {
        if DEADLINE.get().is_some_and(|end| Instant::now() > end) {
            // Unlike `panic!`, this does not call the panic hook.
            resume_unwind(Box::new(DeadlineExceeded));
        }
    }
}

impl Keyword for DeadlineKeyword {
    fn validate<'i>(&self, _instance: &'i Value) -> Result<(), ValidationError<'i>> {
        Self::enforce();
        Ok(())
    }

    fn is_valid(&self, _instance: &Value) -> bool {
        Self::enforce();
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A stack that no address space can hold.
    const IMPOSSIBLE_STACK: usize = 1 << 60;

    #[test]
    fn a_check_ends_at_its_deadline() {
        let deadline = Instant::now() + Duration::from_millis(20);
        let endless = || {
            loop {
                DeadlineKeyword::enforce();
            }
        };
        let stopped: Result<(), _> = run_until(deadline, endless);
        assert!(stopped.is_err());
        assert!(
            run_until(deadline, DeadlineKeyword::enforce).is_err(),
            "no time is left"
        );
        let later = Instant::now() + Duration::from_mins(1);
        assert!(run_until(later, DeadlineKeyword::enforce).is_ok());
        DeadlineKeyword::enforce();
    }

    #[tokio::test]
    async fn a_panic_ends_the_work_and_frees_its_permit() {
        for _ in 0..8 {
            let ended = run_isolated(|| resume_unwind(Box::new("a bug"))).await;
            let ended: Result<(), _> = ended;
            assert!(matches!(ended, Err(IsolationError::Panicked)), "{ended:?}");
        }
        assert!(matches!(run_isolated(|| 1).await, Ok(1)));
    }

    #[tokio::test]
    async fn work_that_cannot_start_holds_no_permit() {
        for _ in 0..8 {
            let ended = run_isolated_with_stack(IMPOSSIBLE_STACK, || 1).await;
            assert!(
                matches!(ended, Err(IsolationError::NoThread(_))),
                "{ended:?}"
            );
        }
        assert!(matches!(run_isolated(|| 1).await, Ok(1)));
    }
}
