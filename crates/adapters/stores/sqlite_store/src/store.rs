//! Opening, migrating and closing the store.

use std::{io, sync::Arc, time::Duration};

use ports::{RepositoryError, Storage};
use relational::{
    SchemaError, WriterThread, pending_migrations,
    repositories::{self, RepositorySql},
};
use sqlx::{
    ConnectOptions, Connection, SqliteConnection,
    migrate::Migrator,
    sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions},
};
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;

use crate::{
    error::from_sqlx,
    location::{self, DatabaseFile, LocationError},
    maintenance::StoreMaintenance,
    search::{SearchFile, SqliteSearch},
    write_store::SqliteWriteStore,
    writer::{CALL_TIMEOUT, Writer},
};

const TRUNCATE_LOG: &str = "pragma wal_checkpoint(truncate)";

static MIGRATOR: Migrator = sqlx::migrate!("../../../../migrations/sqlite");

relational::statements! {
    const MIGRATIONS_TABLE: &str =
        "select count(*) from sqlite_master where type = 'table' and name = '_sqlx_migrations'";

    const APPLIED_MIGRATIONS: &str = "select version, checksum from _sqlx_migrations where success";
}

/// The options of a store.
#[derive(Debug, Clone, Copy)]
pub struct SqliteOptions {
    /// True if this process locks the database. The server does, so all nodes of other processes are
    /// dead. A command on the store does not.
    pub exclusive: bool,
    /// The maximum number of read connections.
    pub max_readers: u32,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            exclusive: true,
            max_readers: 4,
        }
    }
}

/// A store in one SQLite file. Cheap to clone.
#[derive(Clone)]
pub struct SqliteStore {
    options: SqliteConnectOptions,
    pub(crate) readers: SqlitePool,
    /// The connection for reads of the process itself. Without it, many concurrent requests could
    /// make the process appear dead, or let it trust outdated caches.
    pub(crate) own_reader: SqlitePool,
    pub(crate) writer: Writer,
    writer_thread: WriterThread,
    search: SearchFile,
    /// A lock that is held while the first key is stored and shown.
    pub(crate) first_key: Arc<Mutex<()>>,
}

impl RepositorySql for SqliteStore {}

impl SqliteStore {
    /// Opens the file at `url` (`sqlite://data/agent-service.db`), and creates it and its folder if
    /// they are missing. The writer tasks have a thread of their own. If the location is invalid,
    /// the source of the error is a [`LocationError`].
    pub async fn open(
        url: &str,
        options: SqliteOptions,
        tasks: &TaskTracker,
    ) -> Result<Self, RepositoryError> {
        let location_error = |error: LocationError| RepositoryError::Unavailable(error.into());
        let (connect, lock) = location::prepare(url, options.exclusive).map_err(location_error)?;
        let no_file = |error: io::Error| RepositoryError::Unavailable(error.into());
        let no_thread = |error: io::Error| RepositoryError::Unavailable(error.into());
        let writer_thread = WriterThread::start().map_err(no_thread)?;
        let writer = Writer::start(&connect, lock, tasks, writer_thread.clone());
        let writer = writer.map_err(no_thread)?;
        // The first transaction makes the file a database, which read connections cannot do.
        writer
            .transaction(|_connection| Box::pin(async { Ok(()) }))
            .await?;
        let file = DatabaseFile::at(connect.get_filename()).map_err(no_file)?;
        let search = SearchFile::beside(connect.get_filename());
        let own_reader = readers(&connect, &file, 1);
        let readers = readers(&connect, &file, options.max_readers);
        Ok(Self {
            options: connect,
            readers,
            own_reader,
            writer,
            writer_thread,
            search,
            first_key: Arc::default(),
        })
    }

    /// Migrates the schema to this version of the service, and returns the number of migrations. The
    /// caller ensures that no other process does the same: SQLite's migrator takes no lock.
    pub async fn migrate(&self) -> Result<usize, SchemaError> {
        let pending = self.pending_migrations().await?;
        let mut connection = self.options.connect().await.map_err(from_sqlx)?;
        MIGRATOR.run(&mut connection).await?;
        connection.close().await.map_err(from_sqlx)?;
        Ok(pending)
    }

    /// Returns the number of migrations that have not been applied. Fails if others have been.
    pub async fn pending_migrations(&self) -> Result<usize, SchemaError> {
        let tables: i64 = sqlx::query_scalar(MIGRATIONS_TABLE)
            .fetch_one(&self.readers)
            .await
            .map_err(from_sqlx)?;
        let applied = match tables {
            0 => Vec::new(),
            _ => sqlx::query_as(APPLIED_MIGRATIONS)
                .fetch_all(&self.readers)
                .await
                .map_err(from_sqlx)?,
        };
        pending_migrations(&MIGRATOR, &applied)
    }

    /// Copies the write-ahead logs of both files into them, and empties the logs: they contain what was removed
    /// since.
    pub(crate) async fn truncate_log(&self) -> Result<(), RepositoryError> {
        let options = self.options.clone().busy_timeout(CALL_TIMEOUT);
        let mut connection = options.connect().await.map_err(from_sqlx)?;
        truncate_log_of(&mut connection).await?;
        connection.close().await.map_err(from_sqlx)?;
        self.search.truncate_log().await
    }

    /// Returns the ports of this store.
    pub fn storage(&self) -> Storage {
        let writes = SqliteWriteStore {
            writer: self.writer.clone(),
            thread: self.writer_thread.clone(),
        };
        let maintenance = Arc::new(StoreMaintenance(self.clone()));
        let search = Arc::new(SqliteSearch(self.search.clone()));
        repositories::storage(self.clone(), Arc::new(writes), maintenance, search)
    }

    /// Waits for queued writes and closes all connections. Later calls fail with `Unavailable`.
    pub async fn close(&self) {
        self.readers.close().await;
        self.own_reader.close().await;
        self.search.close().await;
        self.writer.close().await;
    }
}

/// Empties the write-ahead log of the file of a connection.
pub(crate) async fn truncate_log_of(
    connection: &mut SqliteConnection,
) -> Result<(), RepositoryError> {
    let truncated = sqlx::query_as(TRUNCATE_LOG).fetch_one(connection).await;
    let (is_busy, _, _): (bool, i64, i64) = truncated.map_err(from_sqlx)?;
    if is_busy {
        let reason = "a reader still needs the write-ahead log";
        return Err(RepositoryError::Unavailable(reason.into()));
    }
    Ok(())
}

fn readers(
    connect: &SqliteConnectOptions,
    file: &DatabaseFile,
    max_connections: u32,
) -> SqlitePool {
    let file = Arc::new(file.clone());
    SqlitePoolOptions::new()
        .after_connect(move |_, _| {
            let file = Arc::clone(&file);
            Box::pin(async move { file.verify().map_err(sqlx::Error::Io) })
        })
        .max_connections(max_connections)
        .acquire_timeout(CALL_TIMEOUT)
        .idle_timeout(None::<Duration>)
        .max_lifetime(None::<Duration>)
        .test_before_acquire(false)
        .connect_lazy_with(connect.clone().read_only(true).busy_timeout(CALL_TIMEOUT))
}

#[cfg(test)]
mod tests {
    use domain::NodeId;
    use tempfile::TempDir;
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn reads_of_the_process_itself_wait_for_no_other_reader() {
        let folder = TempDir::new().unwrap();
        let url = format!("sqlite://{}/test.db", folder.path().display());
        let (options, tasks) = (SqliteOptions::default(), TaskTracker::new());
        let store = SqliteStore::open(&url, options, &tasks).await.unwrap();
        store.migrate().await.unwrap();
        let mut taken = Vec::new();
        for _ in 0..SqliteOptions::default().max_readers {
            taken.push(store.readers.acquire().await.unwrap());
        }
        let storage = store.storage();
        let node = NodeId::new(Uuid::nil());
        let own_reads = async {
            storage.credentials.access_version().await.unwrap();
            storage.sweep.in_progress_under(node).await.unwrap();
            storage.sweep.queued().await.unwrap();
            storage.events.heads().await.unwrap()
        };
        // Less than the time limit of another reader.
        let heads = tokio::time::timeout(CALL_TIMEOUT / 2, own_reads).await;
        assert_eq!(heads.unwrap().len(), 1);
    }
}
