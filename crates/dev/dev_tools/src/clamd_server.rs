//! A `clamd` of tests, which stops when it is dropped.

use std::{
    fs,
    net::{Ipv4Addr, TcpStream},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::{install::debian_packages, process::succeeds, redis_server::free_port};

const PROGRAM: &str = "clamd";
const PACKAGE: &str = "clamav-daemon";
const START_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

const NOTHING_FOUND: &str = "\
the tests need clamd, the daemon of ClamAV, and it was not found. Install it:
      Debian, Ubuntu:  apt-get install clamav-daemon    (or: cargo xtask test --install)
      Fedora:          dnf install clamd
      macOS:           brew install clamav";

/// The text in which the server finds something. It has no other signature.
pub const MARKER: &str = "a text that stands for malware";

/// A server on a free port of the loopback interface.
pub struct ClamdProcess {
    port: u16,
    process: Child,
    _folder: TempDir,
}

impl ClamdProcess {
    /// Fails if the program is missing and `install` does not allow to install it.
    pub fn provide(install: bool) -> Result<()> {
        let is_installed = || succeeds(Command::new(PROGRAM).arg("--version"));
        if !is_installed() && install {
            debian_packages(&[PACKAGE], NOTHING_FOUND)?;
        }
        if !is_installed() {
            bail!(NOTHING_FOUND);
        }
        Ok(())
    }

    /// Starts a server that scans contents of at most this size.
    pub fn start(max_bytes: usize) -> Result<Self> {
        let (folder, port) = (tempfile::tempdir()?, free_port()?);
        let database = folder.path().join("signatures");
        fs::create_dir(&database)?;
        let marker: Vec<_> = MARKER.bytes().map(|byte| format!("{byte:02x}")).collect();
        let signature = format!("Test.Marker:0:*:{}\n", marker.concat());
        fs::write(database.join("test.ndb"), signature)?;
        let settings = folder.path().join("clamd.conf");
        let database = database.display();
        fs::write(
            &settings,
            format!(
                "TCPSocket {port}\nTCPAddr 127.0.0.1\nForeground yes\nStreamMaxLength {max_bytes}\n\
                 DatabaseDirectory {database}\n"
            ),
        )?;
        let mut command = Command::new(PROGRAM);
        command.arg("--config-file").arg(&settings);
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let server = Self {
            port,
            process: process.context(NOTHING_FOUND)?,
            _folder: folder,
        };
        let since = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if since.elapsed() > START_TIMEOUT {
                bail!("{PROGRAM} does not answer");
            }
            sleep(POLL_INTERVAL);
        }
        Ok(server)
    }

    /// The host and the port.
    pub fn place(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

impl Drop for ClamdProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
