//! The user of a server: Postgres refuses to run as root.

use std::{
    env,
    ffi::OsStr,
    os::unix::{fs::chown, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::process::{output, succeeds};

/// The user of a program.
pub(super) struct SystemUser {
    /// The user and group id; those of this process when absent.
    ids: Option<(u32, u32)>,
}

impl SystemUser {
    /// The user of this process.
    pub(super) const fn current() -> Self {
        Self { ids: None }
    }

    /// The user of this process, or an unprivileged one if that is root.
    pub(super) fn unprivileged() -> Result<Self> {
        if !is_root()? {
            return Ok(Self::current());
        }
        let known = |name: &&&str| succeeds(Command::new("id").arg(name));
        let name = ["postgres", "nobody"].iter().find(known);
        let name = name.context("root needs a user `postgres` or `nobody` to run Postgres as")?;
        Ok(Self {
            ids: Some((id_of(&["-u", name])?, id_of(&["-g", name])?)),
        })
    }

    /// Returns a command that runs as this user.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        // This user may not have access to the current folder.
        command.current_dir("/");
        if let Some((user, group)) = self.ids {
            command.uid(user).gid(group);
        }
        command
    }

    /// Returns a folder that this user can enter.
    pub(super) fn folder_for_temporary_files(&self) -> PathBuf {
        if self.ids.is_some() {
            Path::new("/tmp").to_owned()
        } else {
            env::temp_dir()
        }
    }

    /// Makes this user the owner of `path`.
    pub(super) fn own(&self, path: &Path) -> Result<()> {
        let Some((user, group)) = self.ids else {
            return Ok(());
        };
        chown(path, Some(user), Some(group))
            .with_context(|| format!("cannot change the owner of {}", path.display()))
    }
}

/// Returns true if this process runs as root.
pub fn is_root() -> Result<bool> {
    Ok(id_of(&["-u"])? == 0)
}

fn id_of(arguments: &[&str]) -> Result<u32> {
    let printed = output(Command::new("id").args(arguments))?;
    printed.trim().parse().context("`id` printed no number")
}
