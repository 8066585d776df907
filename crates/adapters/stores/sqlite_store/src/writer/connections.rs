//! The write connections, which the writer task opens when it first needs them.

use ports::RepositoryError;
use sqlx::{
    ConnectOptions as _, Connection as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

use super::CALL_TIMEOUT;
use crate::{
    error::{from_rusqlite, from_sqlx},
    location::DatabaseFile,
};

/// The settings of both connections. A large batch touches more pages than fit into the default
/// cache of 2 MB, and temporary data of statements needs no file. A thread makes checkpoints;
/// after a commit with more than these pages (about 64 MiB) in the log, SQLite makes one as well: only
/// while nothing is written can the log begin anew. What is deleted is overwritten.
const PRAGMAS: [(&str, &str); 4] = [
    ("cache_size", "-16384"),
    ("temp_store", "memory"),
    ("wal_autocheckpoint", "16000"),
    ("secure_delete", "on"),
];
/// The number of statements that stay prepared: more than there are for a batch.
const MAX_PREPARED: usize = 64;

/// Two connections to one file, of which one is used at a time.
pub(super) struct Connections {
    options: SqliteConnectOptions,
    file: DatabaseFile,
    /// For transactions that decode rows. The driver runs it in a thread of its own, which costs two
    /// context switches for each statement.
    driver: Option<SqliteConnection>,
    /// For transactions that only write: it runs in the thread of the caller.
    direct: Option<rusqlite::Connection>,
}

impl Connections {
    /// Connections to the file of `options`, which is `file`.
    pub(super) fn new(options: &SqliteConnectOptions, file: DatabaseFile) -> Self {
        let options = options
            .clone()
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(CALL_TIMEOUT);
        let options = PRAGMAS.into_iter().fold(options, |options, (name, value)| {
            options.pragma(name, value)
        });
        Self {
            options,
            file,
            driver: None,
            direct: None,
        }
    }

    /// Returns the connection through the driver.
    pub(super) async fn driver(&mut self) -> Result<&mut SqliteConnection, RepositoryError> {
        let connection = if let Some(open) = self.driver.take() {
            open
        } else {
            self.file
                .verify()
                .map_err(sqlx::Error::Io)
                .map_err(from_sqlx)?;
            self.options.connect().await.map_err(from_sqlx)?
        };
        Ok(self.driver.insert(connection))
    }

    /// Returns the direct connection.
    pub(super) fn direct(&mut self) -> Result<&mut rusqlite::Connection, RepositoryError> {
        let connection = if let Some(open) = self.direct.take() {
            open
        } else {
            let new = self.file.open()?;
            configure(&new).map_err(from_rusqlite)?;
            new
        };
        Ok(self.direct.insert(connection))
    }

    /// Closes the connections. SQLite then merges the log file into the database.
    pub(super) async fn close(mut self) {
        self.direct = None;
        if let Some(open) = self.driver {
            let _ = open.close().await;
        }
    }

    /// Closes the connections after an error.
    pub(super) async fn close_hard(&mut self) {
        self.direct = None;
        if let Some(open) = self.driver.take() {
            let _ = open.close_hard().await;
        }
    }
}

fn configure(connection: &rusqlite::Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(CALL_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(MAX_PREPARED);
    let always = [("synchronous", "full"), ("foreign_keys", "on")];
    for (name, value) in always.into_iter().chain(PRAGMAS) {
        connection.pragma_update(None, name, value)?;
    }
    Ok(())
}
