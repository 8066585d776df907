//! The content of the log.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use tracing::{Level, subscriber::DefaultGuard};

/// Everything that is logged on this thread.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Captures the log until the guard is dropped.
    pub(crate) fn capture(&self) -> DefaultGuard {
        let log = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(Level::INFO)
            .with_ansi(false)
            .with_writer(move || log.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    /// The lines that contain a text.
    pub(crate) fn lines(&self, part: &str) -> Vec<String> {
        let bytes = self.0.lock().expect("no test panicked").clone();
        let text = String::from_utf8(bytes).expect("text");
        let lines = text.lines().filter(|line| line.contains(part));
        lines.map(str::to_owned).collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no test panicked").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
