//! Connecting, migrating and closing the store.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::future::join_all;
use ports::{RepositoryError, Storage, error::one_line};
use relational::{
    SchemaError, WriterThread, pending_migrations,
    repositories::{self, RepositorySql},
};
use sqlx::{
    ConnectOptions as _, Connection, PgConnection,
    migrate::{MigrateError, Migrator},
    postgres::PgConnectOptions,
};
use tokio::{sync::Mutex, time::sleep};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::{
    connections::{Connections, LEAST_POOLED},
    error::{NotUsableYet, from_sqlx, is_read_only, is_temporary},
    maintenance::StoreMaintenance,
    search::PostgresSearch,
    server::{self, in_time},
    store_state,
    tls_tunnel::Tunnel,
    write_store::{GroupConnection, PostgresWriteStore},
};

static MIGRATOR: Migrator = sqlx::migrate!("../../../../migrations/postgres");

/// Without it, every start logs that the table of migrations already exists.
const WITHOUT_NOTICES: &str = "set client_min_messages = warning";

relational::statements! {
    const MIGRATIONS_TABLE: &str = "select to_regclass('_sqlx_migrations') is not null";

    const APPLIED_MIGRATIONS: &str = "select version, checksum from _sqlx_migrations where success";
}

/// The connections of a process beside its pool: one writes, two belong to the event bus, and one
/// counts for the rate limits of several processes.
const OTHER_CONNECTIONS: u32 = 4;

/// The least number of connections with which a process can serve.
const LEAST_CONNECTIONS: u32 = OTHER_CONNECTIONS + LEAST_POOLED;

/// The time in which a server frees the places of closed connections.
const PAUSE_AFTER_CLOSE: Duration = Duration::from_millis(50);

/// The options of a store.
#[derive(Debug, Clone, Copy)]
pub struct PostgresOptions {
    /// The maximum number of connections of this process, those beside the pool included. Fewer if the
    /// server admits fewer.
    pub max_connections: u32,
    /// True if the server is a replica, whose sessions are read-only. All writes fail.
    pub is_replica: bool,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            max_connections: 20,
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
    writes: Arc<PostgresWriteStore>,
    /// True while the writer could not connect.
    pub(crate) has_no_writer: Arc<AtomicBool>,
    tunnel: Option<Arc<Tunnel>>,
}

impl RepositorySql for PostgresStore {}

impl PostgresStore {
    /// Connects to the database at `url` and checks that it can be used. The writer has a thread of its
    /// own; other tasks run on the current runtime. If the
    /// same call can succeed later, the source of the error is a [`NotUsableYet`].
    pub async fn connect(
        url: &str,
        options: PostgresOptions,
        tasks: &TaskTracker,
    ) -> Result<Self, RepositoryError> {
        let checked = server::check_database(url, tasks)
            .await
            .map_err(from_sqlx)?;
        let connect = checked.options;
        let total = options.max_connections.min(checked.connection_limit);
        let pooled = total.saturating_sub(OTHER_CONNECTIONS).max(LEAST_POOLED);
        let connections = Connections::new(connect.clone(), pooled, tasks);
        let has_no_writer = Arc::new(AtomicBool::new(true));
        let writer_thread =
            WriterThread::start().map_err(|error| RepositoryError::Unavailable(error.into()))?;
        let group = GroupConnection::new(
            connect.clone(),
            connections.clone(),
            Arc::clone(&has_no_writer),
        );
        let writes = PostgresWriteStore {
            group: Arc::new(Mutex::new(group)),
            connections: connections.clone(),
            thread: writer_thread,
        };
        Ok(Self {
            options: connect,
            is_replica: options.is_replica,
            connections,
            writes: Arc::new(writes),
            has_no_writer,
            tunnel: checked.tunnel.map(Arc::new),
        })
    }

    /// Migrates the schema to this version of the service, and returns the number of migrations. If
    /// several processes do this at once, one of them migrates and the others wait. A read-only
    /// database is an error only if a migration is pending; its source is then a [`NotUsableYet`].
    pub async fn migrate(&self) -> Result<usize, SchemaError> {
        // A dedicated connection, since a migration may take longer than a call.
        let connection = server::connect(&self.options).await;
        let mut connection = connection.map_err(from_sqlx)?;
        let pending = pending_on(&mut connection).await?;
        sqlx::raw_sql(WITHOUT_NOTICES)
            .execute(&mut connection)
            .await
            .map_err(from_sqlx)?;
        let error = match MIGRATOR.run(&mut connection).await {
            Ok(()) => {
                let _ = connection.close().await;
                return Ok(pending);
            }
            Err(MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _))
                if is_temporary(&error) =>
            {
                return Err(from_sqlx(error).into());
            }
            Err(error) => error,
        };
        // Another process may have migrated it to a newer schema while this one waited for it.
        let pending = pending_on(&mut connection).await?;
        match error {
            MigrateError::Execute(error) if is_read_only(&error) => reject_pending(pending),
            error => Err(error.into()),
        }
    }

    /// Returns the number of migrations that have not been applied. Fails if others have been.
    pub async fn pending_migrations(&self) -> Result<usize, SchemaError> {
        // Outside the pool, which hides why it cannot connect.
        let connection = server::connect(&self.options).await;
        let mut connection = connection.map_err(from_sqlx)?;
        let pending = pending_on(&mut connection).await;
        let _ = connection.close().await;
        pending
    }

    /// Returns the options of its connections, for others to the same database. The driver does not
    /// log their statements: their owners report once what fails, and try it again and again.
    pub fn connect_options(&self) -> PgConnectOptions {
        self.options.clone().disable_statement_logging()
    }

    /// Fails with a [`NotUsableYet`] if a process cannot open as many connections as it needs to serve.
    /// Neither the limits of a pooler nor the needs of others are known before.
    pub async fn require_connections(&self) -> Result<(), RepositoryError> {
        let attempts = (0..LEAST_CONNECTIONS).map(|_| server::connect_and_use(&self.options));
        let (mut opened, mut refusal) = (Vec::new(), None);
        for attempt in join_all(attempts).await {
            match attempt {
                Ok(connection) => opened.push(connection),
                Err(error) => refusal = Some(error),
            }
        }
        let count = opened.len();
        join_all(opened.into_iter().map(Connection::close)).await;
        sleep(PAUSE_AFTER_CLOSE).await;
        let reason = if let Some(error) = refusal {
            let error = one_line(&from_sqlx(error));
            format!(
                "only {count} of the {LEAST_CONNECTIONS} connections that a process needs can be \
                 opened ({error})"
            )
        } else if self.connections.open_least().await.is_ok() {
            return Ok(());
        } else {
            format!(
                "other processes took some of the {LEAST_CONNECTIONS} connections that one needs"
            )
        };
        let reason = format!(
            "{reason}: raise the limit of the role (alter role … connection limit), of the database, \
             of a pooler, or max_connections of the server"
        );
        Err(RepositoryError::Unavailable(NotUsableYet(reason).into()))
    }

    /// Checks that the writer is connected, or connects it.
    pub(crate) async fn check_writer(&self) -> Result<(), RepositoryError> {
        if !self.is_replica && self.has_no_writer.load(Ordering::Relaxed) {
            self.writes.connect().await?;
        }
        Ok(())
    }

    /// Returns the random id of the store.
    pub async fn id(&self) -> Result<Uuid, RepositoryError> {
        store_state::store_id(self).await
    }

    /// Opens a connection beside the others.
    pub(crate) async fn connect_alone(&self) -> Result<PgConnection, RepositoryError> {
        server::connect(&self.options).await.map_err(from_sqlx)
    }

    /// Returns the ports of this store.
    pub fn storage(&self) -> Storage {
        let maintenance = Arc::new(StoreMaintenance(self.clone()));
        let search = Arc::new(PostgresSearch(self.clone()));
        repositories::storage(self.clone(), self.writes.clone(), maintenance, search)
    }

    /// Waits for queued writes and running calls, and closes the connections. Later calls fail with
    /// `Unavailable`.
    pub async fn close(&self) {
        self.writes.group.lock().await.close().await;
        self.connections.close().await;
        if let Some(tunnel) = &self.tunnel {
            tunnel.close();
        }
    }
}

async fn pending_on(connection: &mut PgConnection) -> Result<usize, SchemaError> {
    let applied = in_time(applied_migrations(connection)).await;
    pending_migrations(&MIGRATOR, &applied.map_err(from_sqlx)?)
}

async fn applied_migrations(
    connection: &mut PgConnection,
) -> Result<Vec<(i64, Vec<u8>)>, sqlx::Error> {
    let has_migrations_table: bool = sqlx::query_scalar(MIGRATIONS_TABLE)
        .fetch_one(&mut *connection)
        .await?;
    if !has_migrations_table {
        return Ok(Vec::new());
    }
    sqlx::query_as(APPLIED_MIGRATIONS)
        .fetch_all(connection)
        .await
}

/// Fails if a read-only database must be migrated.
fn reject_pending(pending: usize) -> Result<usize, SchemaError> {
    if pending == 0 {
        return Ok(0);
    }
    let reason =
        format!("the database is read-only, and {pending} migration(s) must be applied to it");
    Err(RepositoryError::Unavailable(NotUsableYet(reason).into()).into())
}
