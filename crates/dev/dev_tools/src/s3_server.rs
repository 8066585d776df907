//! Servers with the protocol of S3 for tests, which stop when they are dropped.

use std::{
    fs,
    net::{Ipv4Addr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::{
    process::{cargo, root, run},
    redis_server::free_port,
};

const PROGRAM: &str = "s3s-fs";
/// The newest version that this workspace's version of Rust builds.
const VERSION: &str = "0.14.1";
const START_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The user of every server.
pub const ACCESS_KEY: &str = "test-access-key";
/// Its secret.
pub const SECRET_KEY: &str = "test-secret-key";

/// A server on a free port of the loopback interface, with one bucket.
pub struct S3Process {
    port: u16,
    folder: TempDir,
    process: Child,
}

impl S3Process {
    /// Builds the server from its source, from the registry of crates, unless that was done before.
    pub fn provide() -> Result<()> {
        run(
            cargo(["install", PROGRAM, "--version", VERSION, "--locked"])
                .args(["--features", "binary", "--root"])
                .arg(tools()),
        )
    }

    /// Starts a server with an empty bucket.
    pub fn start(bucket: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        fs::create_dir(folder.path().join(bucket))?;
        let port = free_port()?;
        let process = Command::new(tools().join("bin").join(PROGRAM))
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .args(["--access-key", ACCESS_KEY, "--secret-key", SECRET_KEY])
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn();
        let server = Self {
            port,
            folder,
            process: process.context("s3s-fs is missing; `cargo xtask test --heavy` builds it")?,
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

    /// The server's URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The folder of all buckets.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// The folder of programs that tests build. It is kept as long as builds are.
fn tools() -> PathBuf {
    root().join("target/tools")
}

impl Drop for S3Process {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
