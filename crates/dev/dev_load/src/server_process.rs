//! A server process.

use std::{
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
};

use anyhow::{Context as _, Result, bail};

const PREFIX: &str = "listening on http://";

/// A server process that has printed its address; killed when dropped.
pub struct ServerProcess {
    child: Child,
    /// The address on which it listens.
    pub address: SocketAddr,
    /// Kept open: a server that cannot print would end.
    _output: BufReader<ChildStdout>,
}

impl ServerProcess {
    /// Starts `command` and waits until it prints `listening on http://<address>`.
    pub fn start(command: &mut Command) -> Result<Self> {
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
            if read.with_context(|| format!("cannot read the output of {program}"))? == 0 {
                let status = child.wait().context("cannot wait for a child")?;
                bail!("{program} ended before it listened ({status})");
            }
            if let Some(address) = line.trim().strip_prefix(PREFIX) {
                let address = address.parse();
                return Ok(Self {
                    child,
                    address: address.with_context(|| format!("not an address: {line}"))?,
                    _output: output,
                });
            }
        }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The exit status, or `None` while the process runs.
    pub fn exit_status(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().context("cannot wait for a child")
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // An error means that the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
