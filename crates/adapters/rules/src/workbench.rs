//! Where the processor works hard without holding up the async threads.

use std::{num::NonZero, sync::Arc, thread::available_parallelism};

use tokio::{
    sync::{AcquireError, Semaphore},
    task::{JoinError, spawn_blocking},
};

/// Runs pieces of pure processor work on blocking threads, first come first served and only on
/// half of the cores at a time, so that whoever saves or triggers expensive rules slows down
/// others who do the same, and nobody else.
#[derive(Debug)]
pub(crate) struct Workbench {
    places: Arc<Semaphore>,
}

/// The work did not come to its end: the process is stopping, or the work panicked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Interrupted {
    #[error("the workbench is closed")]
    Closed(#[from] AcquireError),
    #[error("the work did not finish")]
    Unfinished(#[from] JoinError),
}

impl Workbench {
    pub(crate) fn new() -> Self {
        let cores = available_parallelism().map_or(1, NonZero::get);
        Self {
            places: Arc::new(Semaphore::new((cores / 2).max(1))),
        }
    }

    /// Runs `work`. Once it has begun it runs to its end, also when nobody waits for it any more,
    /// and holds its place until then.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Interrupted> {
        let place = Arc::clone(&self.places).acquire_owned().await?;
        let result = spawn_blocking(move || {
            let result = work();
            drop(place);
            result
        });
        Ok(result.await?)
    }
}
