//! A deadline for a poll function.

use std::{pin::Pin, task::Context, time::Duration};

use tokio::time::{Instant, Sleep};

/// A time by which something must have happened. Its timer is created once and then moved, which is
/// nearly free for a later time.
#[derive(Default)]
pub(super) struct Deadline {
    timer: Option<Pin<Box<Sleep>>>,
    is_set: bool,
    /// True if it can only be extended, and not cleared.
    is_final: bool,
}

impl Deadline {
    /// Sets the deadline, unless it is set.
    pub(super) fn set(&mut self, within: Duration) {
        if !self.is_set {
            self.reset(within);
        }
    }

    /// Sets the deadline again.
    pub(super) fn reset(&mut self, within: Duration) {
        self.is_set = true;
        let at = Instant::now() + within;
        match &mut self.timer {
            Some(timer) => timer.as_mut().reset(at),
            None => self.timer = Some(Box::pin(tokio::time::sleep_until(at))),
        }
    }

    /// Sets the deadline for good. Later calls have no effect.
    pub(super) fn set_final(&mut self, within: Duration) {
        if !self.is_final {
            self.is_final = true;
            self.reset(within);
        }
    }

    /// Extends a deadline that was set for good.
    pub(super) fn extend(&mut self, within: Duration) {
        if self.is_final {
            self.reset(within);
        }
    }

    /// Clears the deadline, unless it was set for good.
    pub(super) fn clear(&mut self) {
        self.is_set = self.is_final;
    }

    /// Returns true if the deadline is set.
    pub(super) const fn is_set(&self) -> bool {
        self.is_set
    }

    /// Returns true if the deadline was set for good.
    pub(super) const fn is_final(&self) -> bool {
        self.is_final
    }

    /// Returns true if the deadline has passed; otherwise wakes the task when it does.
    pub(super) fn has_passed(&mut self, context: &mut Context<'_>) -> bool {
        self.is_set
            && self
                .timer
                .as_mut()
                .is_some_and(|timer| timer.as_mut().poll(context).is_ready())
    }
}
