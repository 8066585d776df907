//! A throw-away server from the programs on this machine.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use super::{
    Database,
    cleanup::CleanupScript,
    control::{LocalServer, ServerControl},
    secret::random_hex,
    user::SystemUser,
};
use crate::{environment, memory, process::output};

const OLDEST_VERSION: u32 = 15;

/// Settings of a throw-away server: no durability, and many concurrent tests.
pub(super) const SETTINGS: &[&str] = &[
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=300",
];

/// Settings of a durable server: the defaults, except for the number of clients.
const DURABLE_SETTINGS: &[&str] = &["max_connections=300"];

/// Stops the server and removes its data. `$1` is the folder of the programs, `$2` that of the
/// data.
const STOP: &str = "\"$1/pg_ctl\" -D \"$2/data\" -m immediate stop\nrm -rf \"$2\"";

/// The programs of a Postgres version.
pub(super) struct Programs {
    folder: PathBuf,
    version: u32,
}

impl Programs {
    /// Returns the newest supported version on the search path or in the folders of packages.
    pub(super) fn newest() -> Option<Self> {
        let found = candidates().into_iter().filter_map(Self::in_folder);
        found
            .filter(|programs| programs.version >= OLDEST_VERSION)
            .max_by_key(|p| p.version)
    }

    fn in_folder(folder: PathBuf) -> Option<Self> {
        if !["initdb", "pg_ctl", "postgres"]
            .iter()
            .all(|name| folder.join(name).is_file())
        {
            return None;
        }
        let printed = output(Command::new(folder.join("postgres")).arg("--version")).ok()?;
        Some(Self {
            version: major_version(&printed)?,
            folder,
        })
    }

    /// Starts a server on a free loopback port, with its data in a temporary folder, in memory if
    /// possible.
    pub(super) fn start(&self) -> Result<Database> {
        let server = self.start_with(SETTINGS, memory::folder())?;
        Ok(server.database)
    }

    /// Starts a server with the default durability of Postgres.
    pub(super) fn start_durable(&self) -> Result<LocalServer> {
        self.start_with(DURABLE_SETTINGS, None)
    }

    /// Returns the path of a program.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn start_with(
        &self,
        settings: &'static [&'static str],
        parent: Option<PathBuf>,
    ) -> Result<LocalServer> {
        let password = random_hex()?;
        self.start_on_data(settings, parent, &password, |user, folder| {
            self.initialise(user, folder, &password)
        })
    }

    /// Starts a server on the data that `prepare` writes to `data` in an empty folder, in `parent`
    /// or else with the user's temporary files.
    pub(super) fn start_on_data(
        &self,
        settings: &'static [&'static str],
        parent: Option<PathBuf>,
        password: &str,
        prepare: impl FnOnce(&SystemUser, &Path) -> Result<()>,
    ) -> Result<LocalServer> {
        let user = SystemUser::unprivileged()?;
        let folder = tempfile::Builder::new()
            .prefix("agent-service-test-")
            .tempdir_in(parent.unwrap_or_else(|| user.folder_for_temporary_files()))
            .context("cannot make a temporary folder")?
            // The cleanup script removes it, even if this process is killed.
            .keep();
        user.own(&folder)?;
        let stop_arguments = [text(&self.folder)?, text(&folder)?];
        let cleanup = CleanupScript::prepare(&user, STOP, &stop_arguments)?;
        prepare(&user, &folder)?;
        let control = ServerControl {
            program: self.path("pg_ctl"),
            user,
            folder,
            settings,
        };
        let port = control.start_on_free_port()?;
        println!(
            "started Postgres {} from {} on port {port}",
            self.version,
            self.folder.display()
        );
        Ok(LocalServer {
            database: Database::started(port, password, cleanup),
            control,
            port,
        })
    }

    fn initialise(&self, user: &SystemUser, folder: &Path, password: &str) -> Result<()> {
        let password_file = folder.join("password");
        fs::write(&password_file, password).context("cannot write the password")?;
        user.own(&password_file)?;
        let mut initdb = user.command(self.folder.join("initdb"));
        initdb.arg("--pgdata").arg(folder.join("data"));
        initdb.arg("--pwfile").arg(&password_file);
        // `password`: the proof of the other methods takes an unoptimised client 30 ms a
        // connection, and the connection never leaves the machine.
        initdb.args(["--username=postgres", "--auth=password", "--no-sync"]);
        initdb.args(["--encoding=UTF8", "--no-locale"]);
        output(&mut initdb)?;
        Ok(())
    }
}

/// Folders that may hold the programs: Debian, Fedora and Homebrew keep them off the search path.
fn candidates() -> Vec<PathBuf> {
    let mut folders = environment::search_path();
    if let Ok(printed) = output(Command::new("pg_config").arg("--bindir")) {
        folders.push(PathBuf::from(printed.trim()));
    }
    for parent in [
        "/usr/lib/postgresql",
        "/usr",
        "/opt/homebrew/opt",
        "/usr/local/opt",
    ] {
        let entries = fs::read_dir(parent).into_iter().flatten().flatten();
        folders.extend(entries.map(|entry| entry.path().join("bin")));
    }
    folders
}

/// Parses the 15 in `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn major_version(printed: &str) -> Option<u32> {
    let version = printed.split_once("(PostgreSQL) ")?.1;
    let digits = version
        .split(|character: char| !character.is_ascii_digit())
        .next()?;
    digits.parse().ok()
}

fn text(path: &Path) -> Result<&str> {
    path.to_str()
        .with_context(|| format!("{} is not UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_major_version() {
        let debian = "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n";
        assert_eq!(major_version(debian), Some(15));
        assert_eq!(major_version("postgres (PostgreSQL) 19beta2"), Some(19));
        assert_eq!(major_version("EnterpriseDB"), None);
    }

    #[test]
    fn a_folder_without_the_programs_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("postgres"), "").unwrap();
        assert!(Programs::in_folder(folder.path().to_owned()).is_none());
    }
}
