//! The locks of the process that serves a database.

use std::{
    fs::{File, TryLockError},
    io,
    mem::ManuallyDrop,
    path::Path,
};

use super::{LocationError, owner_only, sibling_path};

/// Two locks, which the system releases when the process ends for any reason.
///
/// The lock file beside the database works on every file system. It is never removed, because two
/// processes could then hold two locks. The lock on the database itself holds however another process
/// reaches it: after it was moved, for example. SQLite's own locks (`fcntl`) and this one (`flock`)
/// are independent on local file systems of Linux.
#[derive(Debug)]
pub(crate) struct Lock {
    _lock_file: File,
    /// Never closed, since the process would lose SQLite's locks of connections that are still open.
    database: Option<ManuallyDrop<File>>,
}

impl Lock {
    /// Takes the locks for a database, whose path contains no symbolic link. The database itself is
    /// locked only if that does not exclude SQLite's own locks.
    pub(super) fn take(database: &Path, is_independent: bool) -> Result<Self, LocationError> {
        let path = sibling_path(database, ".lock");
        let opened = owner_only().create(true).truncate(false).open(&path);
        let lock_file = opened.map_err(not_lockable(&path))?;
        try_lock(&lock_file, &path)?;
        let database = is_independent.then(|| lock_itself(database)).transpose()?;
        Ok(Self {
            _lock_file: lock_file,
            database,
        })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(database) = &self.database {
            let _ = database.unlock();
        }
    }
}

fn lock_itself(database: &Path) -> Result<ManuallyDrop<File>, LocationError> {
    let opened = File::open(database).map_err(not_lockable(database))?;
    let opened = ManuallyDrop::new(opened);
    try_lock(&opened, database)?;
    Ok(opened)
}

fn try_lock(file: &File, path: &Path) -> Result<(), LocationError> {
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
