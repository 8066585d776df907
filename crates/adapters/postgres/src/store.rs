//! Connecting, migrating and closing the store.

use std::{str::FromStr, sync::Arc};

use ports::{RepositoryError, Storage};
use relational::{
    GroupCommit, SchemaError, WriteTimeouts, WriterThread, pending_migrations,
    repositories::{
        Agents, Conversations, Credentials, Events, Nodes, Recovery, SigningKeys, Turns,
    },
};
use sqlx::{ConnectOptions, Connection, migrate::Migrator, postgres::PgConnectOptions};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::{
    batch::PostgresBatchStore,
    connections::{CALL_TIMEOUT, Connections},
    error::from_sqlx,
    idempotency::IdempotencyRecords,
    maintenance::StoreMaintenance,
    store_state,
    tenants::Tenants,
    tickets::Tickets,
    tokens::Tokens,
};

static MIGRATOR: Migrator = sqlx::migrate!("../../../migrations/postgres");

/// Without it, every start logs that the table of migrations already exists.
const WITHOUT_NOTICES: &str = "set client_min_messages = warning";
const ENCODING: &str = "select current_setting('server_encoding')";
const MIGRATIONS_TABLE: &str = "select to_regclass('_sqlx_migrations') is not null";
const APPLIED_MIGRATIONS: &str = "select version, checksum from _sqlx_migrations where success";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[ENCODING, MIGRATIONS_TABLE, APPLIED_MIGRATIONS];

/// The options of a store.
#[derive(Debug, Clone, Copy)]
pub struct PostgresOptions {
    /// The maximum number of connections, besides the one that writes chats.
    pub max_connections: u32,
    /// True if the server is a replica, whose sessions are read-only. All writes fail.
    pub is_replica: bool,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            max_connections: 16,
            is_replica: false,
        }
    }
}

/// A store in one PostgreSQL database. Cheap to clone.
#[derive(Clone)]
pub struct PostgresStore {
    options: PgConnectOptions,
    pub(crate) is_replica: bool,
    pub(crate) connections: Connections,
    pub(crate) group: GroupCommit,
}

impl PostgresStore {
    /// Connects to the database at `url` and checks its encoding. The writer task has a thread of
    /// its own and ends when the store is dropped; other tasks run on the current runtime.
    pub async fn connect(
        url: &str,
        options: PostgresOptions,
        tasks: &TaskTracker,
    ) -> Result<Self, RepositoryError> {
        let connect = PgConnectOptions::from_str(url)
            .map_err(from_sqlx)?
            .application_name("agent-service");
        let connections = Connections::new(connect.clone(), options.max_connections, tasks);
        let writer_thread =
            WriterThread::start().map_err(|error| RepositoryError::Unavailable(error.into()))?;
        let group = GroupCommit::start(
            PostgresBatchStore::new(connect.clone(), writer_thread.clone()),
            WriteTimeouts::default(),
            tasks,
            writer_thread.runtime(),
        );
        let store = Self {
            options: connect,
            is_replica: options.is_replica,
            connections,
            group,
        };
        match store.encoding().await {
            Ok(encoding) if encoding == "UTF8" => Ok(store),
            Ok(encoding) => Err(RepositoryError::Unavailable(
                format!(
                    "the encoding of the database is {encoding}, which cannot hold all text; \
                     create the database with encoding 'UTF8'"
                )
                .into(),
            )),
            Err(error) => Err(store.connect_error().await.unwrap_or(error)),
        }
    }

    /// Returns the encoding in which the database stores text.
    async fn encoding(&self) -> Result<String, RepositoryError> {
        let read = sqlx::query(ENCODING);
        self.connections.fetch_value("server_encoding", read).await
    }

    /// Returns the reason why the server cannot be reached. The pool's own error after its time
    /// limit does not contain it.
    async fn connect_error(&self) -> Option<RepositoryError> {
        match timeout(CALL_TIMEOUT, self.options.connect()).await {
            Ok(Ok(_reached_after_all)) => None,
            Ok(Err(error)) => Some(from_sqlx(error)),
            Err(_elapsed) => Some(RepositoryError::Unavailable(
                "the server does not respond".into(),
            )),
        }
    }

    /// Migrates the schema to this version of the service. If several processes do this at once,
    /// one of them migrates and the others wait.
    pub async fn migrate(&self) -> Result<(), SchemaError> {
        self.pending_migrations().await?;
        // A dedicated connection, since a migration may take longer than a call.
        let mut connection = timeout(CALL_TIMEOUT, self.options.connect())
            .await
            .map_err(|elapsed| RepositoryError::Unavailable(elapsed.into()))?
            .map_err(from_sqlx)?;
        sqlx::raw_sql(WITHOUT_NOTICES)
            .execute(&mut connection)
            .await
            .map_err(from_sqlx)?;
        if let Err(error) = MIGRATOR.run(&mut connection).await {
            // Another process may have migrated it to a newer schema while this one waited for it.
            self.pending_migrations().await?;
            return Err(error.into());
        }
        Ok(connection.close().await.map_err(from_sqlx)?)
    }

    /// Returns the number of migrations that have not been applied. Fails if others have been.
    pub async fn pending_migrations(&self) -> Result<usize, SchemaError> {
        let applied = self
            .connections
            .run(|connection| {
                Box::pin(async move {
                    let is_begun: bool = sqlx::query_scalar(MIGRATIONS_TABLE)
                        .fetch_one(&mut *connection)
                        .await
                        .map_err(from_sqlx)?;
                    if !is_begun {
                        return Ok(Vec::new());
                    }
                    let applied = sqlx::query_as(APPLIED_MIGRATIONS).fetch_all(connection);
                    applied.await.map_err(from_sqlx)
                })
            })
            .await?;
        pending_migrations(&MIGRATOR, &applied)
    }

    /// Returns the options of its connections, for others to the same database.
    pub const fn connect_options(&self) -> &PgConnectOptions {
        &self.options
    }

    /// Returns the random id of the store.
    pub async fn id(&self) -> Result<Uuid, RepositoryError> {
        store_state::store_id(self).await
    }

    /// Returns the ports of this store.
    pub fn storage(&self) -> Storage {
        let store = || self.clone();
        Storage {
            agents: Arc::new(Agents(store())),
            conversations: Arc::new(Conversations(store())),
            turns: Arc::new(Turns(store())),
            recovery: Arc::new(Recovery(store())),
            idempotency: Arc::new(IdempotencyRecords(store())),
            events: Arc::new(Events(store())),
            credentials: Arc::new(Credentials(store())),
            tokens: Arc::new(Tokens(store())),
            tickets: Arc::new(Tickets(store())),
            signing_keys: Arc::new(SigningKeys(store())),
            tenants: Arc::new(Tenants(store())),
            nodes: Arc::new(Nodes(store())),
            maintenance: Arc::new(StoreMaintenance(store())),
        }
    }

    /// Waits for queued writes and running calls, and closes the connections. Later calls fail with
    /// `Unavailable`.
    pub async fn close(&self) {
        self.group.close().await;
        self.connections.close().await;
    }
}
