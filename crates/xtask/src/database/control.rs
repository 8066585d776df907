//! Starting and stopping a server, and holding it still.

use std::{fs, net::TcpListener, path::PathBuf, process::Command};

use anyhow::{Context as _, Result, bail};

use super::{Database, user::User};
use crate::process::{output, signal, succeeds};

/// How often a start is tried, since another program may take the port before the server does.
const ATTEMPTS: u32 = 3;

/// A server from programs on this machine, there as long as this is.
pub(super) struct LocalServer {
    pub(super) database: Database,
    pub(super) control: Control,
    pub(super) port: u16,
}

/// What a server is controlled by.
pub(super) struct Control {
    /// `pg_ctl`
    pub(super) program: PathBuf,
    /// Who runs the server.
    pub(super) user: User,
    /// Holds its data and its log.
    pub(super) folder: PathBuf,
    pub(super) settings: &'static [&'static str],
}

/// A server none of whose processes does anything (`SIGSTOP`), until this is dropped.
pub(crate) struct Frozen(Vec<u32>);

impl LocalServer {
    /// Stops the server, which ends all its connections.
    pub(super) fn stop(&self) -> Result<()> {
        let mut command = self.control.command();
        output(command.args(["-w", "-m", "fast", "stop"]))?;
        Ok(())
    }

    /// Starts it again where it was, and returns when it takes connections.
    pub(super) fn start_again(&self) -> Result<()> {
        if !succeeds(&mut self.control.start_command(self.port)) {
            bail!("Postgres did not start again");
        }
        Ok(())
    }

    /// Holds it still. Its connections stay open, and new ones are taken by nobody.
    pub(super) fn freeze(&self) -> Result<Frozen> {
        let path = self.control.folder.join("data/postmaster.pid");
        let text = fs::read_to_string(&path).context("the server does not say who it is")?;
        let first = text
            .lines()
            .next()
            .and_then(|line| line.trim().parse().ok());
        let parent = first.context("the server does not say who it is")?;
        let mut frozen = Frozen(vec![parent]);
        signal("STOP", &frozen.0)?;
        // Nobody can have any more children now.
        frozen.0.extend(children(parent)?);
        signal("STOP", &frozen.0)?;
        Ok(frozen)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        // Some may have ended, which is then all right.
        for process in &self.0 {
            let _ = signal("CONT", &[*process]);
        }
    }
}

impl Control {
    pub(super) fn start_on_free_port(&self) -> Result<u16> {
        for _ in 0..ATTEMPTS {
            let port = free_port()?;
            if succeeds(&mut self.start_command(port)) {
                return Ok(port);
            }
        }
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        bail!("Postgres did not start; its log says\n{log}")
    }

    /// `pg_ctl` returns when the server takes connections, and leaves it in a session of its own.
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

/// The processes that a process has started, as Linux tells.
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

/// A port that is free now.
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
    fn who_is_frozen_goes_on_afterwards() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let frozen = Frozen(vec![child.id()]);
        signal("STOP", &frozen.0).unwrap();
        drop(frozen);
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
}
