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

/// Writes log lines, and counts those that cannot be written.
pub(super) struct LogOutput<W> {
    target: W,
    dropped: Counter,
    is_writable: bool,
    /// True if the last line is incomplete, because the disk became full while it was written.
    is_torn: bool,
    ends_with_line: bool,
}

impl<W: Write> LogOutput<W> {
    pub(super) const fn new(target: W, dropped: Counter) -> Self {
        Self {
            target,
            dropped,
            is_writable: true,
            is_torn: false,
            ends_with_line: true,
        }
    }

    /// Returns whether the last line was written.
    pub(super) const fn is_writable(&self) -> bool {
        self.is_writable
    }

    /// Writes whole lines. Returns the number of those that were dropped.
    pub(super) fn write(&mut self, lines: &[u8]) -> u64 {
        let mut rest = lines;
        let mut dropped = 0;
        while !rest.is_empty() {
            let length = match self.write_part(rest) {
                Ok(length) => length,
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => 0,
                    io::ErrorKind::WouldBlock => {
                        thread::sleep(PAUSE);
                        0
                    }
                    _ => {
                        dropped += 1;
                        self.is_torn = !self.ends_with_line;
                        // The rest of this line: the next one may succeed.
                        rest.iter()
                            .position(|byte| *byte == b'\n')
                            .map_or(rest.len(), |end| end + 1)
                    }
                },
            };
            rest = &rest[length..];
        }
        self.dropped.increment(dropped);
        dropped
    }

    fn write_part(&mut self, lines: &[u8]) -> io::Result<usize> {
        self.is_writable = false;
        if self.is_torn {
            self.target.write_all(b"\n")?;
            self.is_torn = false;
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

#[cfg(test)]
mod tests;
