//! A throw-away server that keeps its promises: the one that is measured.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use super::{
    control::{Frozen, LocalServer},
    local::Programs,
};
use crate::{environment, process::output};

const MISSING: &str = "\
measuring needs the programs of Postgres, version 15 or newer, on this machine: server, psql, pgbench
    Debian, Ubuntu:  apt-get install postgresql postgresql-contrib
    Fedora:          dnf install postgresql-server postgresql-contrib
    macOS:           brew install postgresql@17";

/// A server with the durability that Postgres has by default (`fsync`, `synchronous_commit`), so
/// that a commit costs what it costs in earnest. There as long as this is.
pub(crate) struct MeasuredServer {
    server: LocalServer,
    clients: Clients,
}

/// Programs that talk to a server.
struct Clients {
    psql: PathBuf,
    pgbench: PathBuf,
}

/// The program of this name beside the server's, or else on the search path: a server's programs
/// may be linked to where the others are not.
fn client(programs: &Programs, name: &str) -> Option<PathBuf> {
    let folders = environment::search_path().into_iter();
    std::iter::once(programs.path(name))
        .chain(folders.map(|folder| folder.join(name)))
        .find(|path| path.is_file())
}

impl MeasuredServer {
    /// Starts one from programs on this machine.
    pub(crate) fn start() -> Result<Self> {
        let programs = Programs::newest().context(MISSING)?;
        let clients = Clients {
            psql: client(&programs, "psql").context(MISSING)?,
            pgbench: client(&programs, "pgbench").context(MISSING)?,
        };
        let server = programs.start_durable()?;
        Ok(Self { server, clients })
    }

    /// How a superuser reaches the database of this name.
    pub(crate) fn url(&self, database: &str) -> String {
        match self.server.database.url().rsplit_once('/') {
            Some((server, _)) => format!("{server}/{database}"),
            None => self.server.database.url().to_owned(),
        }
    }

    /// Stops the server, which ends all its connections.
    pub(crate) fn stop(&self) -> Result<()> {
        self.server.stop()
    }

    /// Starts it again where it was, and returns when it takes connections.
    pub(crate) fn start_again(&self) -> Result<()> {
        self.server.start_again()
    }

    /// Holds it still until what this answers is dropped.
    pub(crate) fn freeze(&self) -> Result<Frozen> {
        self.server.freeze()
    }

    /// `pgbench` on the database of this name.
    pub(crate) fn pgbench(&self, database: &str) -> Result<Command> {
        self.command(&self.clients.pgbench, database)
    }

    /// Tells a client by variables where to go: others on this machine can read arguments, and the
    /// URL holds the password.
    fn command(&self, program: &Path, database: &str) -> Result<Command> {
        let url = self.url(database);
        let (password, address) = parts(&url).context("the server's URL has another form")?;
        let (host, port) = address.split_once(':').context("the server has no port")?;
        let mut command = Command::new(program);
        command.env("PGHOST", host).env("PGPORT", port);
        command
            .env("PGUSER", "postgres")
            .env("PGPASSWORD", password)
            .env("PGDATABASE", database);
        Ok(command)
    }

    /// Runs SQL, and answers what it printed, without headings.
    pub(crate) fn sql(&self, database: &str, statements: &str) -> Result<String> {
        let mut psql = self.command(&self.clients.psql, database)?;
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"])
            .args(["--set=ON_ERROR_STOP=1", "--command", statements]);
        output(&mut psql)
    }

    /// Makes an empty database of this name.
    pub(crate) fn create(&self, database: &str) -> Result<()> {
        self.sql("postgres", &format!("create database {database}"))?;
        Ok(())
    }
}

/// Password and address in `postgres://postgres:password@address/database`.
fn parts(url: &str) -> Option<(&str, &str)> {
    let (_, rest) = url.split_once("://postgres:")?;
    let (password, rest) = rest.split_once('@')?;
    let (address, _) = rest.split_once('/')?;
    Some((password, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_password_and_address_from_the_url() {
        assert_eq!(
            parts("postgres://postgres:0a1b@127.0.0.1:5433/postgres"),
            Some(("0a1b", "127.0.0.1:5433"))
        );
        assert_eq!(parts("postgres://127.0.0.1/postgres"), None);
    }
}
