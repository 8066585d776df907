//! Where the database is, and whose it is.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    str::FromStr,
};

use sqlx::sqlite::SqliteConnectOptions;

/// Messages and signing keys lie in the files, so that only their owner may read them.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Why the file cannot be used as a store.
#[derive(Debug, thiserror::Error)]
pub enum LocationError {
    /// The text is no SQLite URL.
    #[error("the URL is not one of SQLite: sqlite://path/to/file.db")]
    Malformed(#[source] sqlx::Error),
    /// Several connections would not see the same data.
    #[error("a store needs a file; SQLite in memory is not supported")]
    InMemory,
    /// There is no working directory to begin at.
    #[error("cannot tell where '{path}' is")]
    Nowhere {
        /// The path as it was given.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The folder or the lock file cannot be made.
    #[error("cannot make '{path}'")]
    Unwritable {
        /// What was to be made.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// Another process serves this file.
    #[error("another process uses the database: it holds the lock on '{path}'")]
    Taken {
        /// The lock file.
        path: PathBuf,
    },
}

/// The file that a URL names, from the root, whether it is there or not.
pub fn file_of(url: &str) -> Result<PathBuf, LocationError> {
    let options = read(url)?;
    let path = options.get_filename();
    std::path::absolute(path).map_err(|source| LocationError::Nowhere {
        path: path.to_owned(),
        source,
    })
}

/// Reads a URL such as `sqlite://data/agent-service.db` (relative to the working directory) or
/// `sqlite:///var/lib/agent-service.db`.
fn read(url: &str) -> Result<SqliteConnectOptions, LocationError> {
    let options = SqliteConnectOptions::from_str(url).map_err(LocationError::Malformed)?;
    let path = options.get_filename();
    let in_memory = path.as_os_str().is_empty() || path.to_string_lossy().starts_with("file:");
    if in_memory {
        return Err(LocationError::InMemory);
    }
    Ok(options)
}

/// Reads a URL and makes the folder and the file that it names, for their owner alone.
pub(crate) fn prepare(url: &str) -> Result<SqliteConnectOptions, LocationError> {
    let options = read(url)?;
    let path = options.get_filename();
    if let Some(folder) = path.parent().filter(|path| !path.as_os_str().is_empty()) {
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(FOLDER_MODE).create(folder);
        made.map_err(unwritable(folder))?;
    }
    // SQLite would make the file readable for everyone. It gives its other files the same mode.
    match create().create_new(true).open(path) {
        Ok(_new) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => warn_if_accessible(path),
        Err(error) => return Err(unwritable(path)(error)),
    }
    Ok(options)
}

fn create() -> OpenOptions {
    let mut options = File::options();
    options.write(true).mode(FILE_MODE);
    options
}

fn unwritable(path: &Path) -> impl FnOnce(io::Error) -> LocationError {
    |source| LocationError::Unwritable {
        path: path.to_owned(),
        source,
    }
}

/// Logs a warning for each existing file of the database that other users may access.
fn warn_if_accessible(database: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let path = beside(database, suffix);
        let Ok(metadata) = path.metadata() else {
            continue;
        };
        let mode = metadata.permissions().mode() & 0o777;
        if mode & !FILE_MODE != 0 {
            tracing::warn!(
                file = %path.display(),
                mode = format!("{mode:o}"),
                "other users may access this file, which holds messages and signing keys; \
                 restrict it with `chmod 600`"
            );
        }
    }
}

fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(suffix);
    PathBuf::from(path)
}

/// Takes the lock file beside the database. The system frees it when the process ends, however
/// it ends; the file itself stays, because removing it would let two processes hold two locks.
pub(crate) fn lock(database: &Path) -> Result<File, LocationError> {
    let path = beside(database, ".lock");
    let opened = create().create(true).truncate(false).open(&path);
    let file = opened.map_err(unwritable(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LocationError::Taken { path }),
        Err(TryLockError::Error(source)) => Err(unwritable(&path)(source)),
    }
}
