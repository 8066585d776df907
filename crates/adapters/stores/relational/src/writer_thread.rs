//! A dedicated thread for the tasks that write to the store.

use std::{
    io,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use tokio::{
    runtime::{Builder, Handle},
    time::interval,
};
use tokio_util::sync::{CancellationToken, DropGuard};

/// The time between two ticks of the thread: less than the time limit of any call to a store. A timer
/// that becomes the next one due costs two system calls, and beside the ticks a time limit does not.
const TICK: Duration = Duration::from_secs(1);

/// A dedicated thread for the tasks that write to the store. All chats wait for these tasks; on the
/// shared runtime they would compete for a worker after each response of the database. Each task
/// holds a clone, and the thread ends with the last one.
#[derive(Debug, Clone)]
pub struct WriterThread {
    runtime: Handle,
    _end: Arc<DropGuard>,
}

impl WriterThread {
    /// Starts the thread.
    pub fn start() -> io::Result<Self> {
        let end = CancellationToken::new();
        let ended = end.clone();
        let (sender, receiver) = mpsc::channel();
        // The runtime is created on the thread, because it must not be dropped inside a task.
        let run = move || match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => {
                let _ = sender.send(Ok(runtime.handle().clone()));
                runtime.block_on(async {
                    let mut ticks = interval(TICK);
                    while ended.run_until_cancelled(ticks.tick()).await.is_some() {}
                });
            }
            Err(error) => drop(sender.send(Err(error))),
        };
        thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(run)?;
        Ok(Self {
            runtime: receiver.recv().map_err(io::Error::other)??,
            _end: Arc::new(end.drop_guard()),
        })
    }

    /// The runtime on which to spawn the tasks.
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }
}
