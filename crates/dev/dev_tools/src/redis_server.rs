//! Redis servers of tests, which stop when they are dropped.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::{install::debian_packages, process::succeeds};

const PROGRAM: &str = "redis-server";
const START_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

const NOTHING_FOUND: &str = "\
the tests need redis-server, version 7 or newer, and none was found. Install it:
      Debian, Ubuntu:  apt-get install redis-server    (or: cargo xtask test --install)
      Fedora:          dnf install valkey-compat-redis
      macOS:           brew install redis";

/// A server on a free port of the loopback interface.
pub struct RedisProcess {
    port: u16,
    arguments: Vec<String>,
    folder: TempDir,
    process: Option<Child>,
}

impl RedisProcess {
    /// The package with the program.
    pub const PACKAGE: &str = PROGRAM;

    /// Fails if the program is missing and `install` does not allow to install it.
    pub fn provide(install: bool) -> Result<()> {
        let is_installed = || succeeds(Command::new(PROGRAM).arg("--version"));
        if !is_installed() && install {
            debian_packages(&[Self::PACKAGE], NOTHING_FOUND)?;
        }
        if !is_installed() {
            bail!(NOTHING_FOUND);
        }
        Ok(())
    }

    /// Starts a server with these arguments besides those of every server.
    pub fn start(arguments: &[&str]) -> Result<Self> {
        let mut server = Self::reserve(arguments)?;
        server.restart()?;
        Ok(server)
    }

    /// Starts a server whose arguments name this port.
    pub fn start_on(port: u16, arguments: &[&str]) -> Result<Self> {
        let mut server = Self::on(port, arguments)?;
        server.restart()?;
        Ok(server)
    }

    /// Chooses the port of a server that is started later.
    pub fn reserve(arguments: &[&str]) -> Result<Self> {
        Self::on(free_port()?, arguments)
    }

    fn on(port: u16, arguments: &[&str]) -> Result<Self> {
        Ok(Self {
            port,
            arguments: arguments.iter().map(|&it| it.to_owned()).collect(),
            folder: tempfile::tempdir()?,
            process: None,
        })
    }

    /// Starts the server again, without data.
    pub fn restart(&mut self) -> Result<()> {
        self.kill();
        let mut command = Command::new(PROGRAM);
        // A configuration file comes first.
        let has_file = self
            .arguments
            .first()
            .is_some_and(|it| !it.starts_with('-'));
        let (files, options) = self.arguments.split_at(usize::from(has_file));
        command.args(files).args(["--bind", "127.0.0.1", "--dir"]);
        command.arg(self.folder.path());
        let has = |name| self.arguments.iter().any(|it| it == name);
        if !has("--tls-port") {
            command.args(["--port", &self.port.to_string()]);
        }
        if !has("--sentinel") {
            command.args(["--save", "", "--appendonly", "no"]);
        }
        let child = command.args(options).stdout(Stdio::null()).spawn();
        self.process = Some(child.context(NOTHING_FOUND)?);
        self.wait_until_it_answers()
    }

    /// Kills the server, if it runs.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Stops the server as a hung one: connections stay open.
    pub fn pause(&self) -> Result<()> {
        self.signal("-STOP")
    }

    /// Lets a paused server continue.
    pub fn resume(&self) -> Result<()> {
        self.signal("-CONT")
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The server's URL, without a password.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Sends a command without quotes and returns the beginning of the response.
    pub fn command(&self, command: &str) -> Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(START_TIMEOUT))?;
        stream.write_all(format!("{command}\r\n").as_bytes())?;
        let mut response = vec![0; 64 * 1024];
        let length = stream.read(&mut response)?;
        Ok(String::from_utf8_lossy(&response[..length]).into_owned())
    }

    fn wait_until_it_answers(&self) -> Result<()> {
        let since = Instant::now();
        loop {
            // A server with TLS alone answers nothing in plain text.
            let is_tls = self.arguments.iter().any(|it| it == "--tls-port");
            let answers = if is_tls {
                TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok()
            } else {
                self.command("PING")
                    .is_ok_and(|it| it.starts_with("+PONG") || it.starts_with("-NOAUTH"))
            };
            if answers {
                return Ok(());
            }
            if since.elapsed() > START_TIMEOUT {
                bail!("{PROGRAM} does not answer");
            }
            sleep(POLL_INTERVAL);
        }
    }

    fn signal(&self, signal: &str) -> Result<()> {
        let process = self.process.as_ref().context("the server does not run")?;
        let id = process.id().to_string();
        if !succeeds(Command::new("kill").args([signal, &id])) {
            bail!("cannot send {signal} to {PROGRAM}");
        }
        Ok(())
    }
}

/// Returns a port of the loopback interface that no process uses.
pub fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

impl Drop for RedisProcess {
    fn drop(&mut self) {
        self.kill();
    }
}
