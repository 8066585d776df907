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
