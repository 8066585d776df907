//! The store that the configuration names.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use ports::Storage;
use postgres_store::{PostgresOptions, PostgresStore};
use sqlite_store::{SqliteOptions, SqliteStore};
use tokio_util::task::TaskTracker;

use crate::settings::{DatabaseKind, DatabaseUrl};

/// The store that the configuration names.
pub enum Store {
    /// One file.
    Sqlite(SqliteStore),
    /// A server.
    Postgres(PostgresStore),
}

impl Store {
    /// Opens the store. `exclusive` is for who serves or migrates: a second one is refused.
    pub async fn open(url: &DatabaseUrl, exclusive: bool, tasks: &TaskTracker) -> Result<Self> {
        let opened = match url.kind() {
            DatabaseKind::Sqlite => {
                let options = SqliteOptions {
                    exclusive,
                    ..SqliteOptions::default()
                };
                SqliteStore::open(url.reveal(), options, tasks)
                    .await
                    .map(Self::Sqlite)
            }
            DatabaseKind::Postgres => {
                let options = PostgresOptions::default();
                PostgresStore::connect(url.reveal(), options, tasks)
                    .await
                    .map(Self::Postgres)
            }
        };
        opened.with_context(|| format!("the store at {url} cannot be opened"))
    }

    /// The file of a store that is one, from the root; none for a server.
    pub fn file(url: &DatabaseUrl) -> Result<Option<PathBuf>> {
        match url.kind() {
            DatabaseKind::Sqlite => Ok(Some(sqlite_store::file_of(url.reveal())?)),
            DatabaseKind::Postgres => Ok(None),
        }
    }

    /// Brings the schema up to date.
    pub async fn migrate(&self) -> Result<()> {
        let migrated = match self {
            Self::Sqlite(store) => store.migrate().await,
            Self::Postgres(store) => store.migrate().await,
        };
        migrated.context("the store cannot be migrated")
    }

    /// How many migrations are still to be carried out.
    pub async fn pending_migrations(&self) -> Result<usize> {
        let pending = match self {
            Self::Sqlite(store) => store.pending_migrations().await,
            Self::Postgres(store) => store.pending_migrations().await,
        };
        pending.context("the store's schema cannot be read")
    }

    /// Its ports.
    pub fn storage(&self) -> Storage {
        match self {
            Self::Sqlite(store) => store.storage(),
            Self::Postgres(store) => store.storage(),
        }
    }

    /// Closes it; writes under way are finished.
    pub async fn close(&self) {
        match self {
            Self::Sqlite(store) => store.close().await,
            Self::Postgres(store) => store.close().await,
        }
    }
}

/// Migrates the store, or refuses to go on with one that is behind.
pub async fn prepare_schema(store: &Store, no_migrate: bool) -> Result<()> {
    if !no_migrate {
        return store.migrate().await;
    }
    match store.pending_migrations().await? {
        0 => Ok(()),
        pending => bail!(
            "the store is {pending} migration(s) behind, and --no-migrate was given: run \
             `agent-service migrate` first"
        ),
    }
}
