//! The standard error of a program.

use std::time::Duration;

use tokio::{io::AsyncReadExt as _, process::ChildStderr, time::Instant};
use tokio_util::sync::CancellationToken;

/// The time between two reports of a program that keeps on writing.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// The standard error of a process. Its text is not logged, since it may contain the arguments of
/// calls; only its size is.
pub(crate) struct ProcessLog {
    stderr: ChildStderr,
    /// A process outside the group may keep the stream open.
    ended: CancellationToken,
}

impl ProcessLog {
    pub(super) fn new(stderr: ChildStderr, ended: CancellationToken) -> Self {
        Self { stderr, ended }
    }

    /// Reads all of it until the process has ended, so that writing never blocks the process.
    pub(crate) async fn drain(mut self, server: String) {
        let ended = self.ended.clone();
        let mut buffer = vec![0; 4 * 1024];
        let mut unreported = 0;
        let mut reported: Option<Instant> = None;
        let draining = async {
            while let Ok(bytes @ 1..) = self.stderr.read(&mut buffer).await {
                unreported += bytes;
                if reported.is_none_or(|last| last.elapsed() > REPORT_INTERVAL) {
                    report(&server, std::mem::take(&mut unreported));
                    reported = Some(Instant::now());
                }
            }
        };
        let _ = ended.run_until_cancelled(draining).await;
        if unreported > 0 {
            report(&server, unreported);
        }
    }
}

fn report(server: &str, bytes: usize) {
    tracing::debug!(server, bytes, "MCP server wrote to its standard error");
}
