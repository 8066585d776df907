//! A Postgres server for the tests: the one that was named, or a throw-away one.

mod afterwards;
mod control;
mod docker;
mod local;
mod measured;
mod secret;
mod user;

use anyhow::{Result, bail};

use self::afterwards::Afterwards;
pub(crate) use self::{measured::MeasuredServer, user::is_root};
use crate::{environment, install::debian_packages};

/// Names the server that the tests use: its databases come and go with each test.
pub(crate) const URL_VARIABLE: &str = "TEST_DATABASE_URL";

const NOTHING_FOUND: &str = "\
the tests need a Postgres server, version 15 or newer, and there is none. Do one of these:
  - install one; the tests start and stop it themselves
      Debian, Ubuntu:  apt-get install postgresql      (or: cargo xtask test --install)
      Fedora:          dnf install postgresql-server
      macOS:           brew install postgresql@17
  - start Docker; the tests use the image postgres:17
  - set TEST_DATABASE_URL to a server where they may create and drop databases";

/// A server that is there as long as this is.
pub(crate) struct Database {
    url: String,
    /// Stops the server when dropped, if it is ours.
    _afterwards: Option<Afterwards>,
}

impl Database {
    /// Finds or starts a server: the one that `TEST_DATABASE_URL` names, else from programs on
    /// this machine, else from Docker, else from what `install` allows to be installed.
    pub(crate) fn provide(install: bool) -> Result<Self> {
        if let Some(url) = environment::variable(URL_VARIABLE) {
            println!("using the server that {URL_VARIABLE} names");
            return Ok(Self {
                url,
                _afterwards: None,
            });
        }
        if let Some(server) = local::Programs::newest() {
            return server.start();
        }
        if docker::answers() {
            match docker::start() {
                Err(error) if install => println!("Docker cannot help: {error:#}"),
                outcome => return outcome,
            }
        }
        if install {
            // The cluster that comes with it is not used.
            debian_packages(&["postgresql"], NOTHING_FOUND)?;
            if let Some(server) = local::Programs::newest() {
                return server.start();
            }
        }
        bail!(NOTHING_FOUND)
    }

    /// How a superuser reaches the server.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    fn started(port: u16, password: &str, afterwards: Afterwards) -> Self {
        let url = format!("postgres://postgres:{password}@127.0.0.1:{port}/postgres");
        Self {
            url,
            _afterwards: Some(afterwards),
        }
    }
}
