//! Work by foreign schemas, bounded in what it takes.

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

/// The stack of a thread that works: enough for a schema of as many levels as are allowed, at every
/// level of arguments that are nested as deeply as is allowed. What is not used takes no memory.
const STACK_BYTES: usize = 64 * 1024 * 1024;
/// How long checking may take between its first step and its last.
pub(super) const LONGEST_CHECK: Duration = Duration::from_secs(1);

/// How many work at a time: each has a stack, and the memory of what it works on.
static PLACES: Semaphore = Semaphore::const_new(4);

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub(super) enum Undone {
    /// It has not begun, and could at another time.
    #[error("no thread can be started")]
    NoThread(#[source] io::Error),
    /// It panicked, as it would again.
    #[error("it panicked")]
    Panicked,
}

/// Does something on a thread of its own: no task waits for it, nor does the end of the process.
pub(super) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Undone> {
    apart_on(STACK_BYTES, work).await
}

async fn apart_on<T: Send + 'static>(
    stack_bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Undone> {
    // It is an error only once they are closed, which they never are.
    let place = PLACES.acquire().await;
    let (tell, told) = oneshot::channel();
    let started = thread::Builder::new()
        .name("schema".to_owned())
        .stack_size(stack_bytes)
        .spawn(move || {
            // It stays taken until the work is done, also when nobody waits for it any more.
            let _place = place;
            let _ = tell.send(work());
        });
    started.map_err(Undone::NoThread)?;
    told.await.map_err(|_untold| Undone::Panicked)
}

thread_local! {
    /// What the check on this thread may still take.
    static ALLOWANCE: Cell<Option<Allowance>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
struct Allowance {
    steps: u32,
    until: Instant,
}

/// A check took more than it may.
#[derive(Debug)]
pub(super) struct TooMuch;

/// Checks on this thread, in so many steps at most and until then. It is broken off by unwinding:
/// the library cannot be told to stop, and goes on after a fault where there are alternatives.
pub(super) fn within<T>(
    steps: u32,
    until: Instant,
    check: impl FnOnce() -> T,
) -> Result<T, TooMuch> {
    ALLOWANCE.set(Some(Allowance { steps, until }));
    let checked = catch_unwind(AssertUnwindSafe(check));
    ALLOWANCE.set(None);
    checked.or_else(|reason: Box<dyn Any + Send>| match reason.downcast() {
        Ok(too_much) => Err(*too_much),
        Err(reason) => resume_unwind(reason),
    })
}

/// A keyword that stands in every part of a schema, so that each look at one is a step.
pub(super) struct Step;

impl Step {
    fn take() {
        let Some(mut allowance) = ALLOWANCE.get() else {
            return;
        };
        if allowance.steps == 0 || Instant::now() > allowance.until {
            // Unlike a panic it is told to nobody.
            resume_unwind(Box::new(TooMuch));
        }
        allowance.steps -= 1;
        ALLOWANCE.set(Some(allowance));
    }
}

impl Keyword for Step {
    fn validate<'i>(&self, _instance: &'i Value) -> Result<(), ValidationError<'i>> {
        Self::take();
        Ok(())
    }

    fn is_valid(&self, _instance: &Value) -> bool {
        Self::take();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stack for which no address space has room.
    const MORE_THAN_THERE_IS: usize = 1 << 60;

    #[test]
    fn so_many_steps_may_be_taken() {
        let steps = |count: u32| (0..count).for_each(|_| Step::take());
        let until = Instant::now() + Duration::from_mins(1);
        assert!(within(3, until, || steps(3)).is_ok());
        assert!(within(3, until, || steps(4)).is_err());
        assert!(within(4, until, || steps(4)).is_ok(), "each begins anew");
        steps(1_000);
    }

    #[test]
    fn checks_may_share_their_time() {
        let until = Instant::now() + Duration::from_millis(20);
        let endless = within(u32::MAX, until, || {
            loop {
                Step::take();
                thread::sleep(Duration::from_millis(1));
            }
        });
        let endless: Result<(), _> = endless;
        assert!(endless.is_err());
        assert!(within(1, until, Step::take).is_err(), "none is left");
    }

    #[tokio::test]
    async fn a_panic_ends_the_work_and_frees_its_place() {
        for _ in 0..8 {
            let ended = apart(|| resume_unwind(Box::new("a fault of ours"))).await;
            let ended: Result<(), _> = ended;
            assert!(matches!(ended, Err(Undone::Panicked)), "{ended:?}");
        }
        assert!(matches!(apart(|| 1).await, Ok(1)));
    }

    #[tokio::test]
    async fn what_cannot_begin_takes_no_place() {
        for _ in 0..8 {
            let ended = apart_on(MORE_THAN_THERE_IS, || 1).await;
            assert!(matches!(ended, Err(Undone::NoThread(_))), "{ended:?}");
        }
        assert!(matches!(apart(|| 1).await, Ok(1)));
    }
}
