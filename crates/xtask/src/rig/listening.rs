//! A server process.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    process::{Child, ChildStdout, Command, Stdio},
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

    /// Memory that is resident, in MiB.
    pub(crate) fn resident(&self) -> Result<f64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        resident(&status).with_context(|| format!("{path} has no VmRSS"))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It may have ended by itself, which is then all right.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn resident(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"))?;
    let kibibytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_resident_memory() {
        let status = "Name:\tagent-service\nVmRSS:\t   20480 kB\nVmSwap:\t0 kB\n";
        assert_eq!(resident(status), Some(20.0));
        assert_eq!(resident(""), None);
    }

    #[test]
    fn a_program_that_ends_before_it_listens_is_an_error() {
        let ended = Listening::start(Command::new("sh").args(["-c", "echo hello"]));
        assert!(ended.is_err());
    }
}
