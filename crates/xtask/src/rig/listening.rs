//! A server process.

use std::{
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
};

use anyhow::{Context as _, Result, bail};

const PREFIX: &str = "listening on http://";

/// A server process that said where it listens; killed when dropped.
pub(crate) struct Listening {
    child: Child,
    pub(crate) address: SocketAddr,
    /// Kept open: a server that cannot print would end.
    _output: BufReader<ChildStdout>,
}

impl Listening {
    /// Starts `command`, which prints `listening on http://<address>`.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let output = child.stdout.take().context("a child has no output")?;
        let mut output = BufReader::new(output);
        let mut line = String::new();
        loop {
            line.clear();
            let read = output.read_line(&mut line);
            if read.with_context(|| format!("cannot read what {program} prints"))? == 0 {
                let status = child.wait().context("cannot wait for a child")?;
                bail!("{program} ended before it listened ({status})");
            }
            if let Some(address) = line.trim().strip_prefix(PREFIX) {
                let address = address.parse();
                return Ok(Self {
                    child,
                    address: address.with_context(|| format!("no address: {line}"))?,
                    _output: output,
                });
            }
        }
    }

    /// Names the process to the system.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, or `None` while it has not.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().context("cannot wait for a child")
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It may have ended by itself, which is then all right.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_ends_before_it_listens_is_an_error() {
        let ended = Listening::start(Command::new("sh").args(["-c", "echo hello"]));
        assert!(ended.is_err());
    }
}
