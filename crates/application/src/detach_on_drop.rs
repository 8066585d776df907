//! Futures that reach their end even if their caller drops them.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{runtime::Handle, task::JoinHandle};
use tokio_util::task::TaskTracker;

/// The executor of detached futures: a runtime, with a tracker that makes a shutdown wait for them.
#[derive(Clone)]
pub(crate) struct Background {
    tasks: TaskTracker,
    /// The tasks that run on the runtimes of their callers.
    local_tasks: TaskTracker,
    runtime: Handle,
}

impl Background {
    pub(crate) fn new(tasks: TaskTracker, runtime: Handle) -> Self {
        Self {
            tasks,
            local_tasks: TaskTracker::new(),
            runtime,
        }
    }

    /// Runs work on the background's runtime.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.tasks.spawn_on(work, &self.runtime)
    }

    /// Runs work on the caller's runtime, so that neither has to wake the other's thread. That
    /// runtime MUST NOT end before [`Self::local_work_ended`].
    pub(crate) fn spawn_here(&self, work: impl Future<Output: Send> + Send + 'static) {
        drop(self.tasks.spawn(self.local_tasks.track_future(work)));
    }

    /// Waits until the work on the runtimes of callers has ended.
    pub(crate) async fn local_work_ended(&self) {
        self.local_tasks.close();
        self.local_tasks.wait().await;
    }
}

/// Polls a future in the caller's task; if it is dropped before its end, the future continues in
/// the background.
pub(crate) struct DetachOnDrop<F>
where
    F: Future<Output: Send> + Send + 'static,
{
    /// `None` once the future has ended or panicked.
    future: Option<Pin<Box<F>>>,
    background: Background,
}

impl<F> DetachOnDrop<F>
where
    F: Future<Output: Send> + Send + 'static,
{
    pub(crate) fn new(future: F, background: Background) -> Self {
        Self {
            future: Some(Box::pin(future)),
            background,
        }
    }
}

impl<F> Future for DetachOnDrop<F>
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

impl<F> Drop for DetachOnDrop<F>
where
    F: Future<Output: Send> + Send + 'static,
{
    fn drop(&mut self) {
        if let Some(future) = self.future.take() {
            drop(self.background.spawn(future));
        }
    }
}
