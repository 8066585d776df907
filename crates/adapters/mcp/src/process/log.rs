//! What a program logs.

use tokio::{io::BufReader, process::ChildStderr};
use tokio_util::sync::CancellationToken;

use crate::{
    foreign_text::{Told, printable},
    lines::{Line, Lines},
};

/// The most bytes of a line that are passed on.
const LONGEST_LINE: usize = 4 * 1024;

/// What a process writes to its standard error.
pub(crate) struct ProcessLog {
    lines: Lines<BufReader<ChildStderr>>,
    /// Whoever fled from the group may keep the stream open.
    ended: CancellationToken,
}

impl ProcessLog {
    pub(super) fn new(written: ChildStderr, ended: CancellationToken) -> Self {
        let lines = Lines::new(BufReader::new(written), LONGEST_LINE);
        Self { lines, ended }
    }

    /// Passes it on to our log until the process has ended.
    pub(crate) async fn pass_on(mut self, server: String) {
        let ended = self.ended.clone();
        let mut told = Told::default();
        let passing = async {
            while let Ok(Some(line)) = self.lines.next().await {
                let (Line::Whole(line) | Line::TooLong { start: line, .. }) = line;
                if told.may_tell() {
                    let line = String::from_utf8_lossy(&line);
                    let line = printable(line.trim_end(), LONGEST_LINE);
                    tracing::debug!(server, line, "a server of tools logs");
                }
            }
        };
        let _ = ended.run_until_cancelled(passing).await;
    }
}
