//! The files of the database: their location, permissions and lock.

mod database_file;
mod lock;
mod mount;

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{
        DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
    },
    path::{Path, PathBuf},
    str::FromStr,
};

use sqlx::sqlite::SqliteConnectOptions;

use self::mount::Mount;
pub(crate) use self::{database_file::DatabaseFile, lock::Lock};

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
    /// The folder or the database file cannot be created.
    #[error("cannot create '{path}'")]
    NotWritable {
        /// The folder or file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The lock file or the database file cannot be locked.
    #[error("cannot lock '{path}'")]
    NotLockable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// Another server process uses this file.
    #[error(
        "another process uses the database, or is still shutting down: it holds the lock on '{path}'"
    )]
    Locked {
        /// The lock file or the database file.
        path: PathBuf,
    },
    /// The file is missing beside its log, which SQLite would delete.
    #[error(
        "the database file '{path}' is missing, but its newest changes are in '{path}-wal'; put the file \
         back, or delete the log if you do not need the data"
    )]
    MissingBesideLog {
        /// The database file.
        path: PathBuf,
    },
    /// The path leads to a folder, or to something else that is no file.
    #[error("'{path}' is not a file, and so not a database")]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file has several names. Processes that open it by different ones damage it: SQLite names
    /// the files with the newest changes after it.
    #[error(
        "the database file '{path}' has {links} hard links, and would be damaged if it was opened by \
         two of them; remove the other links, or copy the file"
    )]
    HardLinked {
        /// The database file.
        path: PathBuf,
        /// The number of its names.
        links: u64,
    },
    /// The file is a mount of its own. SQLite would create its `-wal` file beside the mount point, not
    /// beside the original.
    #[error(
        "the database file '{path}' is mounted by itself; mount the folder that contains it, not the file"
    )]
    MountedFile {
        /// The database file.
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

/// Parses a URL, and creates its folder and file with access for their owner only. Locks the file if
/// `exclusive` is set. Returns options with the resolved path, so that every process finds the same
/// files beside the database.
pub(crate) fn prepare(
    url: &str,
    exclusive: bool,
) -> Result<(SqliteConnectOptions, Option<Lock>), LocationError> {
    let options = read(url)?;
    create_missing(options.get_filename())?;
    let (path, mount) = resolve(options.get_filename())?;
    warn_if_accessible(&path);
    let is_independent = mount.is_some_and(|mount| mount.has_independent_locks());
    let lock = exclusive
        .then(|| Lock::take(&path, is_independent))
        .transpose()?;
    Ok((options.filename(path), lock))
}

/// Creates the folder and the file. An existing file is not opened: when a process closes a file, it
/// loses all locks on it that SQLite holds for other connections of that process.
fn create_missing(path: &Path) -> Result<(), LocationError> {
    if let Some(folder) = path.parent().filter(|path| !path.as_os_str().is_empty()) {
        let mut builder = DirBuilder::new();
        let created = builder.recursive(true).mode(FOLDER_MODE).create(folder);
        created.map_err(not_writable(folder))?;
    }
    if !path.exists() {
        if sibling_path(path, "-wal").exists() {
            return Err(LocationError::MissingBesideLog {
                path: path.to_owned(),
            });
        }
        // SQLite would make the file readable for all users. Its other files get the same mode.
        let created = owner_only().create(true).truncate(false).open(path);
        created.map_err(not_writable(path))?;
    }
    Ok(())
}

/// Returns the path without symbolic links, with the mount that contains it. Fails if the file has
/// another name.
fn resolve(path: &Path) -> Result<(PathBuf, Option<Mount>), LocationError> {
    let unresolvable = |source| LocationError::UnresolvablePath {
        path: path.to_owned(),
        source,
    };
    let path = path.canonicalize().map_err(unresolvable)?;
    let metadata = path.metadata().map_err(unresolvable)?;
    if !metadata.is_file() {
        return Err(LocationError::NotAFile { path });
    }
    let links = metadata.nlink();
    if links > 1 {
        return Err(LocationError::HardLinked { path, links });
    }
    let mount = Mount::of(&path);
    if mount.as_ref().is_some_and(|mount| mount.point == path) {
        return Err(LocationError::MountedFile { path });
    }
    Ok((path, mount))
}

/// Creates a file that nobody else can read, unless it exists.
pub(crate) fn create(path: &Path) -> io::Result<()> {
    owner_only().create(true).open(path).map(drop)
}

fn owner_only() -> OpenOptions {
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
    for suffix in ["", "-wal", "-shm", SEARCH, "-search-wal", "-search-shm"] {
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

/// The suffix of the file with the search index of a database.
const SEARCH: &str = "-search";

/// Returns the path of the search index of a database.
pub(crate) fn search_file(database: &Path) -> PathBuf {
    sibling_path(database, SEARCH)
}

pub(crate) fn sibling_path(database: &Path, suffix: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(suffix);
    PathBuf::from(path)
}
