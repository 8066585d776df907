//! Postgres servers for tests and measurements: a given one, or a throw-away one.

mod cleanup;
mod control;
mod docker;
mod durable;
mod local;
mod pooler;
mod replica;
mod secret;
mod user;

use std::{
    io::{self, Write as _},
    process,
};

use anyhow::{Result, bail};

use self::cleanup::CleanupScript;
use crate::{environment, install::debian_packages};

pub use self::{durable::DurableServer, pooler::Pooler, user::is_root};

/// The variable with the URL of a server in which tests create and drop databases.
pub const URL_VARIABLE: &str = "TEST_DATABASE_URL";

/// The package with the programs of a server.
pub const PACKAGE: &str = "postgresql";

const NOTHING_FOUND: &str = "\
the tests need a Postgres server, version 15 or newer, and none was found. Do one of these:
  - install one; the tests start and stop it themselves
      Debian, Ubuntu:  apt-get install postgresql      (or: cargo xtask test --install)
      Fedora:          dnf install postgresql-server
      macOS:           brew install postgresql@17
  - start Docker; the tests use the image postgres:17
  - set TEST_DATABASE_URL to a server where they may create and drop databases";

/// Returns the URL of the server in which tests create and drop databases. Without one, it ends the
/// process with a line that says what to run, since every test would fail for the same reason.
#[expect(clippy::exit, reason = "a panic is the failure of one test")]
pub fn test_server_url() -> String {
    environment::variable(URL_VARIABLE).unwrap_or_else(|| {
        // The test harness captures what `eprintln!` prints. The lock makes the line the only one.
        let mut stderr = io::stderr().lock();
        let _ = writeln!(
            stderr,
            "These tests need Postgres, and {URL_VARIABLE} is not set: run `cargo xtask test --install`."
        );
        process::exit(1)
    })
}

/// A server; a throw-away one is stopped when this is dropped.
pub struct Database {
    url: String,
    /// Stops a throw-away server when dropped.
    _cleanup: Option<CleanupScript>,
}

impl Database {
    /// Finds or starts a server: the server of `TEST_DATABASE_URL`, else programs on this machine,
    /// which `install` allows to be installed, else Docker.
    pub fn provide(install: bool) -> Result<Self> {
        if let Some(url) = environment::variable(URL_VARIABLE) {
            println!("using the server of {URL_VARIABLE}");
            return Ok(Self {
                url,
                _cleanup: None,
            });
        }
        if let Some(server) = local::Programs::newest() {
            return server.start();
        }
        if install {
            // Some tests need the programs, whatever Docker provides. The cluster that the package
            // creates is not used.
            debian_packages(&[PACKAGE], NOTHING_FOUND)?;
            if let Some(server) = local::Programs::newest() {
                return server.start();
            }
        }
        if docker::is_available() {
            return docker::start();
        }
        bail!(NOTHING_FOUND)
    }

    /// The superuser's URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    fn started(port: u16, password: &str, cleanup: CleanupScript) -> Self {
        let url = format!("postgres://postgres:{password}@127.0.0.1:{port}/postgres");
        Self {
            url,
            _cleanup: Some(cleanup),
        }
    }
}
