//! A future that reaches its end also when its caller does not wait for it.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use super::runner::TurnRunner;

/// Runs a future on the caller's thread, without a task of its own. Dropped before its end, it
/// continues in the background.
pub(super) struct RunToEnd<F>
where
    F: Future<Output: Send> + Send + 'static,
{
    /// Missing once it has ended, or panicked.
    future: Option<Pin<Box<F>>>,
    runner: Arc<TurnRunner>,
}

impl<F> RunToEnd<F>
where
    F: Future<Output: Send> + Send + 'static,
{
    pub(super) fn new(future: F, runner: Arc<TurnRunner>) -> Self {
        Self {
            future: Some(Box::pin(future)),
            runner,
        }
    }
}

impl<F> Future for RunToEnd<F>
where
    F: Future<Output: Send> + Send + 'static,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Some(mut future) = self.future.take() else {
            panic!("polled after its end");
        };
        let polled = future.as_mut().poll(context);
        if polled.is_pending() {
            self.future = Some(future);
        }
        polled
    }
}

impl<F> Drop for RunToEnd<F>
where
    F: Future<Output: Send> + Send + 'static,
{
    fn drop(&mut self) {
        if let Some(future) = self.future.take() {
            drop(self.runner.in_background(future));
        }
    }
}
