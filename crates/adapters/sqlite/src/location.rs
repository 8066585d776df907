//! Where the database is, and whose it is.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    str::FromStr,
};

use sqlx::sqlite::SqliteConnectOptions;

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
        source: std::io::Error,
    },
    /// The folder or the lock file cannot be made.
    #[error("cannot make '{path}'")]
    Unwritable {
        /// What was to be made.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
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

/// Reads a URL and makes the folder that it names.
pub(crate) fn prepare(url: &str) -> Result<SqliteConnectOptions, LocationError> {
    let options = read(url)?;
    let path = options.get_filename();
    if let Some(folder) = path.parent().filter(|path| !path.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(|source| LocationError::Unwritable {
            path: folder.to_owned(),
            source,
        })?;
    }
    Ok(options)
}

/// Takes the lock file beside the database. The system frees it when the process ends, however
/// it ends; the file itself stays, because removing it would let two processes hold two locks.
pub(crate) fn lock(database: &Path) -> Result<File, LocationError> {
    let mut path = database.as_os_str().to_owned();
    path.push(".lock");
    let path = PathBuf::from(path);
    let unwritable = |source| LocationError::Unwritable {
        path: path.clone(),
        source,
    };
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(unwritable)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LocationError::Taken { path }),
        Err(TryLockError::Error(source)) => Err(unwritable(source)),
    }
}
