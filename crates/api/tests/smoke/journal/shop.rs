//! A tool server that outlives the service.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_mins(1);
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/smoke/journal/shop.mjs");

/// A tool server with the tools `refund`, which acts, and `price`, which changes nothing.
pub(super) struct Shop {
    process: Child,
    folder: PathBuf,
    pub(super) url: String,
}

impl Shop {
    /// Starts it with files in this folder.
    pub(super) fn start(folder: &Path) -> Self {
        let folder = folder.join("shop");
        fs::create_dir(&folder).expect("a folder");
        let mut command = Command::new("node");
        command.arg(PROGRAM).arg(&folder).stdout(Stdio::piped());
        let mut process = command.spawn().expect("node");
        let out = process.stdout.take().expect("its stdout");
        let mut port = String::new();
        BufReader::new(out).read_line(&mut port).expect("a line");
        Self {
            process,
            folder,
            url: format!("http://127.0.0.1:{}/mcp", port.trim_end()),
        }
    }

    /// Lets all calls of a tool return, those of the past and of the future.
    pub(super) fn release(&self, tool: &str) {
        fs::write(self.folder.join(tool), "").expect("a file");
    }

    /// The name, the id and the attempt of each call, in order.
    pub(super) fn calls(&self) -> Vec<(String, String, u64)> {
        let lines = fs::read_to_string(self.folder.join("calls")).unwrap_or_default();
        let calls = lines.lines().map(|line| {
            let call: Value = serde_json::from_str(line).expect("JSON");
            let member = |name: &str| call[name].as_str().expect("text").to_owned();
            let attempt = call["attempt"].as_u64().expect("a number");
            (member("name"), member("callId"), attempt)
        });
        calls.collect()
    }

    /// Waits until there were so many calls.
    pub(super) async fn wait_for_calls(&self, number: usize) {
        let since = Instant::now();
        while self.calls().len() < number {
            assert!(since.elapsed() < TIMEOUT, "{:?}", self.calls());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
