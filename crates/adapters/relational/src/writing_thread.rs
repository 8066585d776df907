//! A thread for the tasks that write.

use std::{
    io,
    sync::{Arc, mpsc},
    thread,
};

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A thread of its own for the tasks that write, since everybody waits for them: among all others
/// they would wait for a free worker again after each answer of the database. Each of those tasks
/// holds a clone; the thread ends with the last one.
#[derive(Debug, Clone)]
pub struct WritingThread {
    runtime: Handle,
    _end: Arc<DropGuard>,
}

impl WritingThread {
    /// Starts the thread.
    pub fn start() -> io::Result<Self> {
        let end = CancellationToken::new();
        let ended = end.clone();
        let (tell, told) = mpsc::channel();
        // The runtime is made there because it must not be dropped here, among tasks.
        let live = move || match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => {
                let _ = tell.send(Ok(runtime.handle().clone()));
                runtime.block_on(ended.cancelled());
            }
            Err(error) => drop(tell.send(Err(error))),
        };
        thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(live)?;
        Ok(Self {
            runtime: told.recv().map_err(io::Error::other)??,
            _end: Arc::new(end.drop_guard()),
        })
    }

    /// Where the tasks are spawned.
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }
}
