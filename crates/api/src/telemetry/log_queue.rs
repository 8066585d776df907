//! The queue between the threads that log and the thread that writes the log, so that no request
//! waits for the reader of the log: a paused terminal, a busy journal, a pipe that is not read.

use std::{
    io::{self, Write},
    mem,
    sync::Arc,
    thread,
    time::Duration,
};

use metrics::Counter;
use parking_lot::{Condvar, Mutex};
use tracing_subscriber::fmt::MakeWriter;

use super::log_output::{LOG_LINES_DROPPED, LogOutput};

/// The maximum size of the waiting lines; as much again may be being written.
const MAX_QUEUED_BYTES: usize = 4 * 1024 * 1024;

/// The memory that each of both buffers keeps after a burst.
const KEPT_BYTES: usize = 64 * 1024;

/// Queues log lines for the thread that writes them. Never waits for it: a line without room is
/// dropped and counted. Clones share one queue.
#[derive(Clone)]
pub(super) struct LogQueue(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Notified when lines are added, and when all are written.
    changed: Condvar,
    dropped: Counter,
}

#[derive(Default)]
struct State {
    lines: Vec<u8>,
    /// The lines dropped since the thread last took some.
    dropped: u64,
    is_writing: bool,
}

impl LogQueue {
    /// Starts the thread, which writes to `target` as long as the process runs.
    pub(super) fn start(target: impl Write + Send + 'static) -> io::Result<Self> {
        let dropped = metrics::counter!(LOG_LINES_DROPPED);
        let output = LogOutput::new(target, dropped.clone());
        let queue = Self::new(dropped);
        let writing = queue.clone();
        let thread = thread::Builder::new().name("log".to_owned());
        thread.spawn(move || writing.write_to(output))?;
        Ok(queue)
    }

    fn new(dropped: Counter) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            dropped,
        }))
    }

    fn push(&self, line: &[u8]) {
        let Shared {
            state,
            changed,
            dropped,
        } = &*self.0;
        let mut state = state.lock();
        if state.lines.len() + line.len() > MAX_QUEUED_BYTES {
            state.dropped += 1;
            dropped.increment(1);
            return;
        }
        state.lines.extend_from_slice(line);
        drop(state);
        changed.notify_all();
    }

    /// Waits until all lines are written, or given up, but no longer than `timeout`.
    pub(super) fn wait_until_written(&self, timeout: Duration) {
        let mut state = self.0.state.lock();
        let is_unwritten = |state: &mut State| state.is_writing || !state.lines.is_empty();
        let changed = &self.0.changed;
        changed.wait_while_for(&mut state, is_unwritten, timeout);
    }

    fn write_to(&self, mut output: LogOutput<impl Write>) {
        let mut lines = Vec::new();
        let mut unreported = 0;
        loop {
            unreported += self.take(&mut lines);
            // Now, since the queue has just become empty: under load it is full again when `lines` are
            // written. The report is where the lost lines would be, behind those.
            if unreported > 0 && output.is_writable() {
                let lines = mem::take(&mut unreported);
                tracing::warn!(
                    lines,
                    "log lines were lost, since they could not be written"
                );
            }
            unreported += output.write(&lines);
        }
    }

    /// Replaces `lines`, which are written, by those of the queue, for which it waits. Returns the
    /// number of lines dropped behind them.
    fn take(&self, lines: &mut Vec<u8>) -> u64 {
        lines.clear();
        lines.shrink_to(KEPT_BYTES);
        let mut state = self.0.state.lock();
        state.is_writing = false;
        while state.lines.is_empty() {
            self.0.changed.notify_all();
            self.0.changed.wait(&mut state);
        }
        state.is_writing = true;
        mem::swap(&mut state.lines, lines);
        mem::take(&mut state.dropped)
    }
}

impl<'a> MakeWriter<'a> for LogQueue {
    type Writer = &'a Self;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

impl Write for &LogQueue {
    /// Queues a whole line: the subscriber writes each line with one call.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
