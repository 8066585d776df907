//! The output of the log, whose errors do not affect the service, such as a full disk or a closed
//! pipe.

use std::{
    io::{self, Write},
    thread,
    time::Duration,
};

use metrics::Counter;

/// The metric that counts log lines that could not be written.
pub(super) const LOG_LINES_DROPPED: &str = "log_lines_dropped";

/// The pause before the next attempt, if the output cannot be written now and does not wait.
const PAUSE: Duration = Duration::from_millis(10);

/// Writes log lines, and counts those that cannot be written. After an error the rest of the line is
/// skipped. If its beginning was written, the next line starts with a line feed.
pub(super) struct LogOutput<W> {
    target: W,
    dropped: Counter,
    is_writable: bool,
    /// True if the last written byte ends a line.
    ends_with_line: bool,
}

impl<W: Write> LogOutput<W> {
    pub(super) const fn new(target: W, dropped: Counter) -> Self {
        Self {
            target,
            dropped,
            is_writable: true,
            ends_with_line: true,
        }
    }

    /// Returns false from an error until something is written again.
    pub(super) const fn is_writable(&self) -> bool {
        self.is_writable
    }

    /// Writes whole lines. Returns the number of those that were dropped.
    pub(super) fn write(&mut self, lines: &[u8]) -> u64 {
        let mut rest = lines;
        let mut dropped = 0;
        while !rest.is_empty() {
            match self.write_part(rest).map_err(|error| error.kind()) {
                Ok(length) => rest = &rest[length..],
                Err(io::ErrorKind::Interrupted) => {}
                Err(io::ErrorKind::WouldBlock) => thread::sleep(PAUSE),
                Err(_) => {
                    dropped += 1;
                    self.is_writable = false;
                    rest = &rest[line_end(rest)..];
                }
            }
        }
        self.dropped.increment(dropped);
        dropped
    }

    fn write_part(&mut self, lines: &[u8]) -> io::Result<usize> {
        if !self.is_writable && !self.ends_with_line {
            self.target.write_all(b"\n")?;
            self.ends_with_line = true;
        }
        let length = self.target.write(lines)?;
        if length == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.is_writable = true;
        self.ends_with_line = lines[..length].ends_with(b"\n");
        Ok(length)
    }
}

/// Returns the position behind the first line.
fn line_end(lines: &[u8]) -> usize {
    let line_feed = lines.iter().position(|byte| *byte == b'\n');
    line_feed.map_or(lines.len(), |at| at + 1)
}

#[cfg(test)]
mod tests;
