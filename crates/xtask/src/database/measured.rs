//! A throw-away server that keeps its promises: the one that is measured.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::{Database, local::Programs};
use crate::process::output;

const MISSING: &str = "\
measuring needs the programs of Postgres, version 15 or newer, on this machine: server, psql, pgbench
    Debian, Ubuntu:  apt-get install postgresql postgresql-contrib
    Fedora:          dnf install postgresql-server postgresql-contrib
    macOS:           brew install postgresql@17";

/// A server with the durability that Postgres has by default (`fsync`, `synchronous_commit`), so
/// that a commit costs what it costs in earnest. There as long as this is.
pub(crate) struct MeasuredServer {
    server: Database,
    programs: Programs,
}

impl MeasuredServer {
    /// Starts one from programs on this machine.
    pub(crate) fn start() -> Result<Self> {
        let programs = Programs::newest().context(MISSING)?;
        if !["psql", "pgbench"]
            .iter()
            .all(|name| programs.path(name).is_file())
        {
            bail!(MISSING);
        }
        let server = programs.start_durable()?;
        Ok(Self { server, programs })
    }

    /// How a superuser reaches the database of this name.
    pub(crate) fn url(&self, database: &str) -> String {
        match self.server.url().rsplit_once('/') {
            Some((server, _)) => format!("{server}/{database}"),
            None => self.server.url().to_owned(),
        }
    }

    /// One of the client programs, told to use the database of this name. By a variable: others on
    /// this machine can read arguments, and the URL holds the password.
    pub(crate) fn client(&self, program: &str, database: &str) -> Result<Command> {
        let url = self.url(database);
        let (password, address) = parts(&url).context("the server's URL has another form")?;
        let (host, port) = address.split_once(':').context("the server has no port")?;
        let mut command = Command::new(self.programs.path(program));
        command.env("PGHOST", host).env("PGPORT", port);
        command
            .env("PGUSER", "postgres")
            .env("PGPASSWORD", password)
            .env("PGDATABASE", database);
        Ok(command)
    }

    /// Runs SQL, and answers what it printed, without headings.
    pub(crate) fn sql(&self, database: &str, statements: &str) -> Result<String> {
        let mut psql = self.client("psql", database)?;
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
