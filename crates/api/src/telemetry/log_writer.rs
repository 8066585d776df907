//! A writer of log lines whose errors do not affect the service, such as a full disk or a closed
//! pipe.

use std::{
    io::{self, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use tracing::Metadata;
use tracing_subscriber::fmt::MakeWriter;

/// The metric that counts log lines that could not be written.
pub(super) const LOG_LINES_DROPPED: &str = "log_lines_dropped";

/// Creates a [`LineWriter`] for each log line, on the writers of `W`.
pub(super) struct LogWriter<W> {
    target: W,
    /// True if the last line is incomplete, because the disk became full while it was written.
    is_torn: AtomicBool,
}

impl<W> LogWriter<W> {
    pub(super) const fn new(target: W) -> Self {
        Self {
            target,
            is_torn: AtomicBool::new(false),
        }
    }
}

impl<'a, W: MakeWriter<'a>> MakeWriter<'a> for LogWriter<W> {
    type Writer = LineWriter<'a, W::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        LineWriter {
            target: self.target.make_writer(),
            is_torn: &self.is_torn,
            is_begun: false,
        }
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Self::Writer {
        LineWriter {
            target: self.target.make_writer_for(metadata),
            is_torn: &self.is_torn,
            is_begun: false,
        }
    }
}

/// Writes one line. Counts an error; the subscriber then drops the line.
pub(super) struct LineWriter<'a, W> {
    target: W,
    is_torn: &'a AtomicBool,
    is_begun: bool,
}

impl<W: Write> LineWriter<'_, W> {
    fn write_part(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_begun && self.is_torn.load(Ordering::Relaxed) {
            self.target.write_all(b"\n")?;
        }
        let length = self.target.write(bytes)?;
        self.is_begun = true;
        let is_whole = bytes[..length].ends_with(b"\n");
        self.is_torn.store(!is_whole, Ordering::Relaxed);
        Ok(length)
    }
}

impl<W: Write> Write for LineWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_part(bytes).inspect_err(|error| {
            // The caller repeats an interrupted write.
            if error.kind() != io::ErrorKind::Interrupted {
                metrics::counter!(LOG_LINES_DROPPED).increment(1);
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.target.flush()
    }
}
