//! A thread for the tasks that write.

use std::{io, sync::Arc, thread};

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A thread of its own for the tasks that write, since everybody waits for them: among all others
/// they would wait for a free worker again after each answer of the database. Clones share it; it
/// ends, with what still runs on it, when the last one is dropped.
#[derive(Debug, Clone)]
pub struct WritingThread {
    handle: Handle,
    _end: Arc<DropGuard>,
}

impl WritingThread {
    /// Starts the thread.
    pub fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let end = CancellationToken::new();
        let ended = end.clone();
        thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || runtime.block_on(ended.cancelled()))?;
        Ok(Self {
            handle,
            _end: Arc::new(end.drop_guard()),
        })
    }

    /// Where the tasks are spawned.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}
