//! Who runs the server: Postgres refuses to be run by root.

use std::{
    env,
    ffi::OsStr,
    os::unix::{fs::chown, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::process::{output, succeeds};

/// Who a program is run by.
pub(super) struct User {
    /// User and group id to change to; ourselves when absent.
    ids: Option<(u32, u32)>,
}

impl User {
    /// Whoever we are.
    pub(super) const fn ourselves() -> Self {
        Self { ids: None }
    }

    /// Ourselves, or somebody harmless if we are root.
    pub(super) fn not_root() -> Result<Self> {
        if !is_root()? {
            return Ok(Self::ourselves());
        }
        let known = |name: &&&str| succeeds(Command::new("id").arg(name));
        let name = ["postgres", "nobody"].iter().find(known);
        let name = name.context("root needs a user `postgres` or `nobody` to run Postgres as")?;
        Ok(Self {
            ids: Some((id_of(&["-u", name])?, id_of(&["-g", name])?)),
        })
    }

    /// A program to be run by this user.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        // Ours may be closed to this user.
        command.current_dir("/");
        if let Some((user, group)) = self.ids {
            command.uid(user).gid(group);
        }
        command
    }

    /// A folder whose every parent this user can enter.
    pub(super) fn folder_for_temporary_files(&self) -> PathBuf {
        if self.ids.is_some() {
            Path::new("/tmp").to_owned()
        } else {
            env::temp_dir()
        }
    }

    /// Makes this user the owner.
    pub(super) fn own(&self, path: &Path) -> Result<()> {
        let Some((user, group)) = self.ids else {
            return Ok(());
        };
        chown(path, Some(user), Some(group))
            .with_context(|| format!("cannot give {} away", path.display()))
    }
}

/// Whether we are root.
pub(crate) fn is_root() -> Result<bool> {
    Ok(id_of(&["-u"])? == 0)
}

fn id_of(arguments: &[&str]) -> Result<u32> {
    let printed = output(Command::new("id").args(arguments))?;
    printed.trim().parse().context("`id` printed no number")
}
