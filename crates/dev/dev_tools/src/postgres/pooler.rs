//! A connection pooler in front of a server: PgBouncer with its defaults.

use std::{
    fs,
    net::{Ipv4Addr, TcpStream},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use super::{
    durable::{DurableServer, parts},
    user::SystemUser,
};
use crate::{install::debian_packages, process::succeeds, redis_server::free_port};

const PROGRAM: &str = "pgbouncer";
const START_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

const NOTHING_FOUND: &str = "\
the tests need pgbouncer, and none was found. Install it:
      Debian, Ubuntu:  apt-get install pgbouncer    (or: cargo xtask test --install)
      Fedora:          dnf install pgbouncer
      macOS:           brew install pgbouncer";

/// A pooler on a free port of the loopback interface; stopped when dropped.
pub struct Pooler {
    port: u16,
    process: Child,
    _folder: TempDir,
}

impl Pooler {
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

    /// The URL of a database through this pooler.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    fn wait_until_it_listens(&self) -> Result<()> {
        let since = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            if since.elapsed() > START_TIMEOUT {
                bail!("{PROGRAM} does not listen");
            }
            sleep(POLL_INTERVAL);
        }
        Ok(())
    }
}

impl DurableServer {
    /// Starts a pooler in front of this server, with `session` or `transaction` as its `pool_mode`, and
    /// on further lines with other settings. It admits everybody as superuser.
    pub fn start_pooler(&self, pool_mode: &str) -> Result<Pooler> {
        let user = SystemUser::unprivileged()?;
        let folder = tempfile::tempdir_in(user.folder_for_temporary_files())?;
        let file = folder.path().join("pgbouncer.ini");
        let (port, url) = (free_port()?, self.url("postgres"));
        let (password, _) = parts(&url).context("the server's URL has another form")?;
        let settings = format!(
            "[databases]\n\
             * = host=127.0.0.1 port={} user=postgres password={password}\n\
             [pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = any\npool_mode = {pool_mode}\n",
            self.port()
        );
        fs::write(&file, settings).context("cannot write the settings of a pooler")?;
        user.own(folder.path())?;
        user.own(&file)?;
        let mut command = user.command(PROGRAM);
        command.arg("--quiet").arg(&file).stdin(Stdio::null());
        let process = command.stderr(Stdio::null()).spawn();
        let pooler = Pooler {
            port,
            process: process.context(NOTHING_FOUND)?,
            _folder: folder,
        };
        pooler.wait_until_it_listens()?;
        Ok(pooler)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
