//! Limits on the stack, the time and the steps of work with schemas of external tools.

use std::{
    any::Any,
    cell::Cell,
    io,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
    time::{Duration, Instant},
};

use jsonschema::{Keyword, ValidationError};
use serde_json::Value;
use tokio::sync::{Semaphore, oneshot};

/// The stack of a thread: enough for a schema of the maximum depth at every level of arguments of
/// the maximum depth. Unused stack takes no memory.
const STACK_BYTES: usize = 64 * 1024 * 1024;
/// The maximum time between the first and the last step of a check.
pub(super) const MAX_CHECK_TIME: Duration = Duration::from_secs(1);

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
    /// The remaining limits of the check on this thread.
    static REMAINING: Cell<Option<CheckLimits>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
struct CheckLimits {
    steps: u32,
    deadline: Instant,
}

/// A check exceeded its limits.
#[derive(Debug)]
pub(super) struct LimitExceeded;

/// Runs a check on this thread with a maximum number of steps and a deadline. It is stopped by
/// unwinding: the library cannot be interrupted and continues after a violation if there are
/// alternatives.
pub(super) fn with_limits<T>(
    steps: u32,
    deadline: Instant,
    check: impl FnOnce() -> T,
) -> Result<T, LimitExceeded> {
    REMAINING.set(Some(CheckLimits { steps, deadline }));
    let checked = catch_unwind(AssertUnwindSafe(check));
    REMAINING.set(None);
    checked.or_else(|reason: Box<dyn Any + Send>| match reason.downcast() {
        Ok(limit_exceeded) => Err(*limit_exceeded),
        Err(reason) => resume_unwind(reason),
    })
}

/// The keyword in every subschema, which makes each evaluation a step.
pub(super) struct Step;

impl Step {
    fn count() {
        let Some(mut remaining) = REMAINING.get() else {
            return;
        };
        if remaining.steps == 0 || Instant::now() > remaining.deadline {
            // Unlike `panic!`, this does not call the panic hook.
            resume_unwind(Box::new(LimitExceeded));
        }
        remaining.steps -= 1;
        REMAINING.set(Some(remaining));
    }
}

impl Keyword for Step {
    fn validate<'i>(&self, _instance: &'i Value) -> Result<(), ValidationError<'i>> {
        Self::count();
        Ok(())
    }

    fn is_valid(&self, _instance: &Value) -> bool {
        Self::count();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stack that no address space can hold.
    const IMPOSSIBLE_STACK: usize = 1 << 60;

    #[test]
    fn steps_are_limited() {
        let steps = |number: u32| (0..number).for_each(|_| Step::count());
        let deadline = Instant::now() + Duration::from_mins(1);
        assert!(with_limits(3, deadline, || steps(3)).is_ok());
        assert!(with_limits(3, deadline, || steps(4)).is_err());
        assert!(
            with_limits(4, deadline, || steps(4)).is_ok(),
            "each check has its own limit"
        );
        steps(1_000);
    }

    #[test]
    fn checks_share_a_deadline() {
        let deadline = Instant::now() + Duration::from_millis(20);
        let endless = with_limits(u32::MAX, deadline, || {
            loop {
                Step::count();
                thread::sleep(Duration::from_millis(1));
            }
        });
        let endless: Result<(), _> = endless;
        assert!(endless.is_err());
        assert!(
            with_limits(1, deadline, Step::count).is_err(),
            "no time is left"
        );
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
