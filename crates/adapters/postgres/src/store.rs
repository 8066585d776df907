//! Connecting, migrating and closing the store.

use std::sync::Arc;

use ports::{RepositoryError, Storage};
use relational::{
    GroupCommit, SchemaError, WriteTimeouts, WriterThread, pending_migrations,
    repositories::{
        Agents, Conversations, Credentials, Events, Nodes, Recovery, SigningKeys, Turns,
    },
};
use sqlx::{
    Connection,
    migrate::{MigrateError, Migrator},
    postgres::PgConnectOptions,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use crate::{
    batch::PostgresBatchStore,
    connections::Connections,
    error::{NotUsableYet, from_sqlx, is_read_only},
    idempotency::IdempotencyRecords,
    maintenance::StoreMaintenance,
    server, store_state,
    tenants::Tenants,
    tickets::Tickets,
    tokens::Tokens,
};

static MIGRATOR: Migrator = sqlx::migrate!("../../../migrations/postgres");

/// Without it, every start logs that the table of migrations already exists.
const WITHOUT_NOTICES: &str = "set client_min_messages = warning";
const MIGRATIONS_TABLE: &str = "select to_regclass('_sqlx_migrations') is not null";
const APPLIED_MIGRATIONS: &str = "select version, checksum from _sqlx_migrations where success";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[MIGRATIONS_TABLE, APPLIED_MIGRATIONS];

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
    /// Ends the tunnel of its connections, if there is one.
    stop: CancellationToken,
}

impl PostgresStore {
    /// Connects to the database at `url` and checks that it can be used. The writer task has a thread
    /// of its own and ends when the store is dropped; other tasks run on the current runtime. If the
    /// same call can succeed later, the source of the error is a [`NotUsableYet`].
    pub async fn connect(
        url: &str,
        options: PostgresOptions,
        tasks: &TaskTracker,
    ) -> Result<Self, RepositoryError> {
        let stop = CancellationToken::new();
        let connect = server::usable_options(url, tasks, &stop).await?;
        let connections = Connections::new(connect.clone(), options.max_connections, tasks);
        let writer_thread =
            WriterThread::start().map_err(|error| RepositoryError::Unavailable(error.into()))?;
        let group = GroupCommit::start(
            PostgresBatchStore::new(connect.clone(), writer_thread.clone()),
            WriteTimeouts::default(),
            tasks,
            writer_thread.runtime(),
        );
        Ok(Self {
            options: connect,
            is_replica: options.is_replica,
            connections,
            group,
            stop,
        })
    }

    /// Migrates the schema to this version of the service. If several processes do this at once,
    /// one of them migrates and the others wait. A read-only database is an error only if a migration
    /// is pending; its source is then a [`NotUsableYet`].
    pub async fn migrate(&self) -> Result<(), SchemaError> {
        self.pending_migrations().await?;
        // A dedicated connection, since a migration may take longer than a call.
        let mut connection = server::connect(&self.options).await?;
        sqlx::raw_sql(WITHOUT_NOTICES)
            .execute(&mut connection)
            .await
            .map_err(from_sqlx)?;
        let Err(error) = MIGRATOR.run(&mut connection).await else {
            return Ok(connection.close().await.map_err(from_sqlx)?);
        };
        // Another process may have migrated it to a newer schema while this one waited for it.
        let pending = self.pending_migrations().await?;
        match error {
            MigrateError::Execute(error) if is_read_only(&error) => require_none(pending),
            error => Err(error.into()),
        }
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
        self.stop.cancel();
    }
}

/// Fails if a read-only database must be migrated.
fn require_none(pending: usize) -> Result<(), SchemaError> {
    if pending == 0 {
        return Ok(());
    }
    let reason =
        format!("the database is read-only, and {pending} migration(s) must be applied to it");
    Err(RepositoryError::Unavailable(NotUsableYet(reason).into()).into())
}
