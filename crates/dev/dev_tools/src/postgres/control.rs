//! Starts, stops and freezes a server.

use std::{fs, net::TcpListener, path::PathBuf, process::Command};

use anyhow::{Context as _, Result, bail};

use super::{Database, user::SystemUser};
use crate::process::{output, signal, succeeds};

/// The number of attempts to start: another program may take the port before the server does.
const ATTEMPTS: u32 = 3;

/// A server of programs on this machine; stopped when dropped.
pub(super) struct LocalServer {
    pub(super) database: Database,
    pub(super) control: ServerControl,
    pub(super) port: u16,
}

/// The means to control a server.
pub(super) struct ServerControl {
    /// `pg_ctl`.
    pub(super) program: PathBuf,
    /// The user that runs the server.
    pub(super) user: SystemUser,
    /// The folder of data and log.
    pub(super) folder: PathBuf,
    pub(super) settings: &'static [&'static str],
}

/// A server whose processes are all suspended (`SIGSTOP`) until this is dropped.
pub struct FrozenServer(Vec<u32>);

impl LocalServer {
    /// Stops the server, which closes all its connections.
    pub(super) fn stop(&self) -> Result<()> {
        let mut command = self.control.command();
        output(command.args(["-w", "-m", "fast", "stop"]))?;
        Ok(())
    }

    /// Starts it again on the same port, and returns when it accepts connections.
    pub(super) fn restart(&self) -> Result<()> {
        if !succeeds(&mut self.control.start_command(self.port)) {
            bail!("Postgres did not start again");
        }
        Ok(())
    }

    /// Suspends the server. Its connections stay open, and new ones are not accepted.
    pub(super) fn freeze(&self) -> Result<FrozenServer> {
        let path = self.control.folder.join("data/postmaster.pid");
        let text = fs::read_to_string(&path).context("cannot read the id of the server process")?;
        let first = text
            .lines()
            .next()
            .and_then(|line| line.trim().parse().ok());
        let parent = first.context("cannot read the id of the server process")?;
        let mut frozen = FrozenServer(vec![parent]);
        signal("STOP", &frozen.0)?;
        // The suspended parent starts no further processes.
        frozen.0.extend(children(parent)?);
        signal("STOP", &frozen.0)?;
        Ok(frozen)
    }
}

impl Drop for FrozenServer {
    fn drop(&mut self) {
        // An error means that the process has ended.
        for process in &self.0 {
            let _ = signal("CONT", &[*process]);
        }
    }
}

impl ServerControl {
    pub(super) fn start_on_free_port(&self) -> Result<u16> {
        for _ in 0..ATTEMPTS {
            let port = free_port()?;
            if succeeds(&mut self.start_command(port)) {
                return Ok(port);
            }
        }
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        bail!("Postgres did not start; its log:\n{log}")
    }

    /// `pg_ctl` returns when the server accepts connections, and leaves it in a session of its own.
    fn start_command(&self, port: u16) -> Command {
        let mut options =
            format!("-c port={port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=");
        for setting in self.settings {
            options.push_str(" -c ");
            options.push_str(setting);
        }
        let mut command = self.command();
        command.arg("-l").arg(self.folder.join("log"));
        command.args(["-w", "-t", "60", "-o", &options, "start"]);
        command
    }

    fn command(&self) -> Command {
        let mut command = self.user.command(&self.program);
        command.arg("-D").arg(self.folder.join("data"));
        command
    }
}

/// Returns the child processes of a process, from `/proc`.
fn children(parent: u32) -> Result<Vec<u32>> {
    let entries = fs::read_dir("/proc").context("cannot look at the processes")?;
    let ids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(ids.filter(|id| parent_of(*id) == Some(parent)).collect())
}

fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(1)?.parse().ok()
}

/// Returns a port that is free now.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("cannot find a free port")?;
    Ok(listener
        .local_addr()
        .context("cannot find a free port")?
        .port())
}

#[cfg(test)]
mod tests {
    use std::process::{Stdio, id};

    use super::*;

    #[test]
    fn finds_the_processes_that_a_process_started() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let found = children(id()).unwrap();
        assert!(found.contains(&child.id()), "{found:?}");
        assert!(children(child.id()).unwrap().is_empty());
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn a_frozen_process_continues_afterwards() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let frozen = FrozenServer(vec![child.id()]);
        signal("STOP", &frozen.0).unwrap();
        drop(frozen);
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
}
