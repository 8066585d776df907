//! The file of the index.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use ports::RepositoryError;
use rusqlite::ffi;
use sqlx::{
    Sqlite, SqlitePool, Transaction,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use tokio::sync::Mutex;

use crate::{
    error::{code_of, from_sqlx},
    location,
    store::truncate_log_of,
    writer::CALL_TIMEOUT,
};

/// The number of connections: one writes, the others search.
const MAX_CONNECTIONS: u32 = 4;

/// Every word of the core is a token: for this tokenizer all that is not ASCII is part of one.
const SCHEMA: &str = "
    create table if not exists follower_positions (
        follower text not null,
        tenant_id text not null,
        position integer not null,
        backfilled_to blob,
        primary key (follower, tenant_id)
    ) strict, without rowid;
    create table if not exists entries (
        sort_key integer primary key,
        tenant_id text not null,
        conversation_id blob not null,
        message_seq integer not null,
        unique (tenant_id, conversation_id, message_seq)
    ) strict;
    create virtual table if not exists words using fts5 (scopes, text, tokenize = 'ascii');
    insert into words (words, rank) values ('secure-delete', 1);
";

/// The file of the index, which is opened or created when it is first needed.
#[derive(Clone)]
pub(crate) struct SearchFile {
    path: PathBuf,
    /// `None` until it is needed.
    pool: Arc<Mutex<Option<SqlitePool>>>,
}

impl SearchFile {
    /// The file of a database.
    pub(crate) fn beside(database: &Path) -> Self {
        Self {
            path: location::search_file(database),
            pool: Arc::default(),
        }
    }

    /// Returns the connections.
    pub(super) async fn pool(&self) -> Result<SqlitePool, RepositoryError> {
        let mut pool = self.pool.lock().await;
        if let Some(open) = &*pool {
            return Ok(open.clone());
        }
        let opened = self.open().await.map_err(from_sqlx)?;
        Ok(pool.insert(opened).clone())
    }

    /// Removes the file after an error that shows that it is damaged: it can be built again.
    pub(super) async fn remove_if_damaged(&self, error: &RepositoryError) {
        let RepositoryError::Unavailable(cause) = error else {
            return;
        };
        if !cause.downcast_ref().is_some_and(is_damaged) {
            return;
        }
        let mut pool = self.pool.lock().await;
        let path = self.path.display();
        tracing::warn!(%path, "the search index is damaged; building it again");
        if let Some(open) = pool.take() {
            open.close().await;
        }
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(location::sibling_path(&self.path, suffix));
        }
    }

    /// Begins a transaction that writes.
    pub(super) async fn begin(&self) -> Result<Transaction<'static, Sqlite>, RepositoryError> {
        let begun = self.pool().await?.begin_with("begin immediate").await;
        begun.map_err(from_sqlx)
    }

    async fn open(&self) -> sqlx::Result<SqlitePool> {
        location::create(&self.path)?;
        let connect = SqliteConnectOptions::new()
            .filename(&self.path)
            .journal_mode(SqliteJournalMode::Wal)
            // Steps that a power failure has removed are taken again.
            .synchronous(SqliteSynchronous::Normal)
            .pragma("secure_delete", "on")
            .busy_timeout(CALL_TIMEOUT);
        let pool = SqlitePoolOptions::new()
            .max_connections(MAX_CONNECTIONS)
            .acquire_timeout(CALL_TIMEOUT)
            .idle_timeout(Duration::from_mins(1))
            .connect_with(connect)
            .await?;
        sqlx::raw_sql(SCHEMA).execute(&pool).await?;
        Ok(pool)
    }

    /// Empties the write-ahead log.
    pub(crate) async fn truncate_log(&self) -> Result<(), RepositoryError> {
        let mut connection = self.pool().await?.acquire().await.map_err(from_sqlx)?;
        truncate_log_of(&mut connection).await
    }

    /// Closes the file.
    pub(crate) async fn close(&self) {
        if let Some(pool) = self.pool.lock().await.take() {
            pool.close().await;
        }
    }
}

fn is_damaged(error: &sqlx::Error) -> bool {
    let primary = code_of(error).map(|code| code & 0xff);
    matches!(primary, Some(ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB))
}
