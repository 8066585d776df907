//! The deadline of a check.

use std::{
    any::Any,
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::Instant,
};

use jsonschema::{Keyword, ValidationError};
use serde_json::Value;

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
}
