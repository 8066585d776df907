//! The files of the database: their location, permissions and lock.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    str::FromStr,
};

use sqlx::sqlite::SqliteConnectOptions;

/// Only the owner may access the files, since they contain messages and signing keys.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The reason why a location cannot be used for a store.
#[derive(Debug, thiserror::Error)]
pub enum LocationError {
    /// The text is not an SQLite URL.
    #[error("the database URL is not of the form sqlite://path/to/file.db")]
    InvalidUrl(#[source] sqlx::Error),
    /// The database is in memory, where several connections do not see the same data.
    #[error("the database must be a file; SQLite in memory is not supported")]
    InMemory,
    /// The working directory, to which the path is relative, is not accessible.
    #[error("cannot resolve the path '{path}'")]
    UnresolvablePath {
        /// The configured path.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The folder, the database file or the lock file cannot be created.
    #[error("cannot create '{path}'")]
    NotWritable {
        /// The folder or file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// Another server process uses this file.
    #[error("another process uses the database: it holds the lock on '{path}'")]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
}

/// Returns the absolute path of the file of a URL. The file need not exist.
pub fn file_of(url: &str) -> Result<PathBuf, LocationError> {
    let options = read(url)?;
    let path = options.get_filename();
    std::path::absolute(path).map_err(|source| LocationError::UnresolvablePath {
        path: path.to_owned(),
        source,
    })
}

/// Parses a URL such as `sqlite://data/agent-service.db` (relative to the working directory) or
/// `sqlite:///var/lib/agent-service.db`.
fn read(url: &str) -> Result<SqliteConnectOptions, LocationError> {
    let options = SqliteConnectOptions::from_str(url).map_err(LocationError::InvalidUrl)?;
    let path = options.get_filename();
    let in_memory = path.as_os_str().is_empty() || path.to_string_lossy().starts_with("file:");
    if in_memory {
        return Err(LocationError::InMemory);
    }
    Ok(options)
}

/// Parses a URL, and creates its folder and file with access for their owner only.
pub(crate) fn prepare(url: &str) -> Result<SqliteConnectOptions, LocationError> {
    let options = read(url)?;
    let path = options.get_filename();
    if let Some(folder) = path.parent().filter(|path| !path.as_os_str().is_empty()) {
        let mut builder = DirBuilder::new();
        let created = builder.recursive(true).mode(FOLDER_MODE).create(folder);
        created.map_err(not_writable(folder))?;
    }
    // SQLite would make the file readable for all users. Its other files get the same mode.
    match create().create_new(true).open(path) {
        Ok(_new) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => warn_if_accessible(path),
        Err(error) => return Err(not_writable(path)(error)),
    }
    Ok(options)
}

fn create() -> OpenOptions {
    let mut options = File::options();
    options.write(true).mode(FILE_MODE);
    options
}

fn not_writable(path: &Path) -> impl FnOnce(io::Error) -> LocationError {
    |source| LocationError::NotWritable {
        path: path.to_owned(),
        source,
    }
}

/// Logs a warning for each existing database file that other users can access.
fn warn_if_accessible(database: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let path = sibling_path(database, suffix);
        let Ok(metadata) = path.metadata() else {
            continue;
        };
        let mode = metadata.permissions().mode() & 0o777;
        if mode & !FILE_MODE != 0 {
            tracing::warn!(
                file = %path.display(),
                mode = format!("{mode:o}"),
                "database file with messages and signing keys is accessible to other users; \
                 restrict it with `chmod 600`"
            );
        }
    }
}

fn sibling_path(database: &Path, suffix: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(suffix);
    PathBuf::from(path)
}

/// Takes the lock file beside the database. The system releases it when the process ends for any
/// reason. The file itself is never removed, because two processes could then hold two locks.
pub(crate) fn lock(database: &Path) -> Result<File, LocationError> {
    let path = sibling_path(database, ".lock");
    let opened = create().create(true).truncate(false).open(&path);
    let file = opened.map_err(not_writable(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LocationError::Locked { path }),
        Err(TryLockError::Error(source)) => Err(not_writable(&path)(source)),
    }
}
