//! The locks of the process that serves a database.

use std::{
    fs::{File, TryLockError},
    io,
    mem::ManuallyDrop,
    path::Path,
};

use super::{LocationError, create, sibling_path};

/// Two locks, which the system releases when the process ends for any reason.
///
/// The lock file beside the database works on every file system. It is never removed, because two
/// processes could then hold two locks. The lock on the database itself holds however another process
/// reaches it: after it was moved, for example. SQLite's own locks (`fcntl`) and this one (`flock`)
/// are independent.
#[derive(Debug)]
pub(crate) struct Lock {
    _beside: File,
    /// Never closed, since the process would lose SQLite's locks of connections that are still open.
    database: Option<ManuallyDrop<File>>,
}

impl Lock {
    /// Takes the locks for a database, whose path contains no symbolic link.
    pub(super) fn take(database: &Path, on_network: bool) -> Result<Self, LocationError> {
        let path = sibling_path(database, ".lock");
        let opened = create().create(true).truncate(false).open(&path);
        let beside = opened.map_err(not_lockable(&path))?;
        take(&beside, &path)?;
        let mut lock = Self {
            _beside: beside,
            database: None,
        };
        // There, this lock is of the same kind as SQLite's, which it would exclude.
        if !on_network {
            let opened = File::open(database).map_err(not_lockable(database))?;
            let opened = lock.database.insert(ManuallyDrop::new(opened));
            take(opened, database)?;
        }
        Ok(lock)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(database) = &self.database {
            let _ = database.unlock();
        }
    }
}

fn take(file: &File, path: &Path) -> Result<(), LocationError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => LocationError::Locked {
            path: path.to_owned(),
        },
        TryLockError::Error(source) => not_lockable(path)(source),
    })
}

fn not_lockable(path: &Path) -> impl FnOnce(io::Error) -> LocationError {
    |source| LocationError::NotLockable {
        path: path.to_owned(),
        source,
    }
}
