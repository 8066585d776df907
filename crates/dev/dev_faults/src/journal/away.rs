//! A SQLite file that another process has locked for writing.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};

const LOCK: &str = "import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=5)
connection.execute('begin immediate')
print('locked', flush=True)
sys.stdin.readline()";

/// A lock, released when dropped.
pub(super) struct LockedFile(Child);

impl LockedFile {
    /// Locks the file.
    pub(super) fn lock(file: &Path) -> Result<Self> {
        let mut command = Command::new("python3");
        command.args(["-c", LOCK]).arg(file);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut locked = Self(command.spawn().context("cannot start python3")?);
        let output = locked.0.stdout.take().context("a child has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        ensure!(line.trim() == "locked", "the store cannot be locked");
        Ok(locked)
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // An error means that the process has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
