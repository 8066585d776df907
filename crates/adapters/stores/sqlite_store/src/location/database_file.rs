//! The identity of the database file.

use std::{
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use ports::RepositoryError;
use rusqlite::{Connection, OpenFlags};

use crate::error::from_rusqlite;

/// The file that a process serves. If it is moved, connections that are opened later must not use
/// what has its path then: SQLite would delete the log beside a new empty file, and another server
/// may use the path.
#[derive(Debug, Clone)]
pub(crate) struct DatabaseFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl DatabaseFile {
    /// Returns the file that has this path now.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let metadata = path.metadata()?;
        Ok(Self {
            path: path.to_owned(),
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }

    /// Fails if its path no longer leads to it.
    pub(crate) fn verify(&self) -> io::Result<()> {
        let metadata = self.path.metadata()?;
        if (metadata.dev(), metadata.ino()) == (self.device, self.inode) {
            return Ok(());
        }
        Err(io::Error::other(
            "the database file was moved or replaced while it was served",
        ))
    }

    /// Opens a connection that runs in the thread of its caller.
    pub(crate) fn open(&self) -> Result<Connection, RepositoryError> {
        let moved = |error: io::Error| RepositoryError::Unavailable(error.into());
        self.verify().map_err(moved)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(&self.path, flags).map_err(from_rusqlite)
    }
}
