//! A throw-away server with the default durability of Postgres, for measurements.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use super::{
    control::{FrozenServer, LocalServer},
    local::Programs,
};
use crate::{environment, process::output};

pub(super) const MISSING: &str = "\
measuring needs the programs of Postgres, version 15 or newer, on this machine: server, psql, pgbench
    Debian, Ubuntu:  apt-get install postgresql postgresql-contrib
    Fedora:          dnf install postgresql-server postgresql-contrib
    macOS:           brew install postgresql@17";

/// A server with `fsync` and `synchronous_commit`, so that a commit costs as much as in production.
/// Stopped and removed when dropped.
pub struct DurableServer {
    pub(super) server: LocalServer,
    pub(super) clients: Clients,
}

/// The paths of client programs.
#[derive(Clone)]
pub(super) struct Clients {
    psql: PathBuf,
    pgbench: PathBuf,
}

/// Returns the client program beside the server's programs, or else on the search path: packages
/// may link them to different folders.
pub(super) fn client(programs: &Programs, name: &str) -> Option<PathBuf> {
    let folders = environment::search_path().into_iter();
    std::iter::once(programs.path(name))
        .chain(folders.map(|folder| folder.join(name)))
        .find(|path| path.is_file())
}

impl DurableServer {
    /// Starts a server of programs on this machine.
    pub fn start() -> Result<Self> {
        let programs = Programs::newest().context(MISSING)?;
        let clients = Clients {
            psql: client(&programs, "psql").context(MISSING)?,
            pgbench: client(&programs, "pgbench").context(MISSING)?,
        };
        let server = programs.start_durable()?;
        Ok(Self { server, clients })
    }

    /// Fills segments of the write-ahead log and recycles them by a checkpoint, as on a server that has
    /// run for some time. A new server creates each segment of 16 MiB within a commit, for which all
    /// others wait 10 to 20 ms.
    pub fn recycle_log_segments(&self) -> Result<()> {
        let fill = "do $$ begin for i in 1..60 loop \
                    perform pg_logical_emit_message(false, '', ''), pg_switch_wal(); \
                    end loop; end $$";
        self.sql("postgres", fill)?;
        self.sql("postgres", "checkpoint")?;
        Ok(())
    }

    /// Returns the superuser's URL of a database.
    pub fn url(&self, database: &str) -> String {
        match self.server.database.url().rsplit_once('/') {
            Some((server, _)) => format!("{server}/{database}"),
            None => self.server.database.url().to_owned(),
        }
    }

    /// Stops the server, which closes all its connections.
    pub fn stop(&self) -> Result<()> {
        self.server.stop()
    }

    /// Starts it again on the same port, and returns when it accepts connections.
    pub fn restart(&self) -> Result<()> {
        self.server.restart()
    }

    /// Suspends the server until the returned value is dropped.
    pub fn freeze(&self) -> Result<FrozenServer> {
        self.server.freeze()
    }

    /// Returns a `pgbench` command on a database.
    pub fn pgbench(&self, database: &str) -> Result<Command> {
        self.command(&self.clients.pgbench, database)
    }

    /// The port on the loopback interface.
    pub const fn port(&self) -> u16 {
        self.server.port
    }

    /// Passes the URL in variables: other users of this machine can read arguments, and the URL
    /// holds the password.
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

    /// Runs SQL and returns its output, without headings.
    pub fn sql(&self, database: &str, statements: &str) -> Result<String> {
        let mut psql = self.command(&self.clients.psql, database)?;
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"])
            .args(["--set=ON_ERROR_STOP=1", "--command", statements]);
        output(&mut psql)
    }

    /// Makes the server offer TLS with this certificate and private key, both in PEM, to new
    /// connections, after a moment.
    pub fn offer_tls(&self, certificate: &str, key: &str) -> Result<()> {
        for (file, text) in [("server.crt", certificate), ("server.key", key)] {
            // The folder of the data belongs to the user of the server.
            let write = format!(
                "copy (select unnest(string_to_array('{text}', E'\\n'))) \
                 to program 'umask 077 && cat >{file}'"
            );
            self.sql("postgres", &write)?;
        }
        self.sql("postgres", "alter system set ssl = on")?;
        self.sql("postgres", "select pg_reload_conf()")?;
        Ok(())
    }

    /// Creates an empty database.
    pub fn create(&self, database: &str) -> Result<()> {
        self.sql("postgres", &format!("create database {database}"))?;
        Ok(())
    }
}

/// Parses password and address of `postgres://postgres:password@address/database`.
pub(super) fn parts(url: &str) -> Option<(&str, &str)> {
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
