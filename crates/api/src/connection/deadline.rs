//! A time by which something must have happened.

use std::{pin::Pin, task::Context, time::Duration};

use tokio::time::{Instant, Sleep};

/// A time by which something must have happened. Its timer is made once and then moved, since
/// moving one further away costs next to nothing.
#[derive(Default)]
pub(super) struct Deadline {
    timer: Option<Pin<Box<Sleep>>>,
    is_set: bool,
    /// Whether it is not moved any more.
    is_final: bool,
}

impl Deadline {
    /// Sets it, unless it is set.
    pub(super) fn set(&mut self, within: Duration) {
        if !self.is_set {
            self.reset(within);
        }
    }

    /// Sets it anew.
    pub(super) fn reset(&mut self, within: Duration) {
        self.is_set = true;
        let at = Instant::now() + within;
        match &mut self.timer {
            Some(timer) => timer.as_mut().reset(at),
            None => self.timer = Some(Box::pin(tokio::time::sleep_until(at))),
        }
    }

    /// Sets it anew, once and for all.
    pub(super) fn set_once(&mut self, within: Duration) {
        if !self.is_final {
            self.is_final = true;
            self.reset(within);
        }
    }

    /// Sets it anew where it was set once and for all.
    pub(super) fn extend(&mut self, within: Duration) {
        if self.is_final {
            self.reset(within);
        }
    }

    /// Forgets it, unless it was set once and for all.
    pub(super) fn clear(&mut self) {
        self.is_set = self.is_final;
    }

    /// Whether it is set.
    pub(super) const fn is_set(&self) -> bool {
        self.is_set
    }

    /// Whether it was set once and for all.
    pub(super) const fn is_final(&self) -> bool {
        self.is_final
    }

    /// Whether it has passed; if not, the task is woken when it does.
    pub(super) fn has_passed(&mut self, context: &mut Context<'_>) -> bool {
        self.is_set
            && self
                .timer
                .as_mut()
                .is_some_and(|timer| timer.as_mut().poll(context).is_ready())
    }
}
