//! A separate database for each test, on the server of `TEST_DATABASE_URL`.

use std::{ops::Deref, str::FromStr, thread};

use contract::Store;
use dev_tools::postgres::test_server_url;
use postgres_store::{PostgresOptions, PostgresStore};
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection, postgres::PgConnectOptions,
};
use tokio_util::task::TaskTracker;

const WAITING: &str = "\
    select count(*) from pg_stat_activity \
    where datname = current_database() and wait_event_type = 'Lock'";

/// A database, which is dropped with this value.
pub(crate) struct Database {
    /// The store of this database.
    pub(crate) store: PostgresStore,
    storage: Store,
    server: PgConnectOptions,
    name: String,
}

impl Database {
    /// Creates a migrated database.
    pub(crate) async fn new() -> Self {
        let database = Self::new_empty().await;
        let migrated = database.store.migrate().await;
        migrated.expect("the server responds");
        database
    }

    /// Creates a database without a schema.
    pub(crate) async fn new_empty() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "names a database and nothing else"
        )]
        let name = format!("test_{}", uuid::Uuid::now_v7().simple());
        let server = PgConnectOptions::from_str(&test_server_url()).expect("a URL of Postgres");
        let create = format!("create database {name} template template0 encoding 'UTF8'");
        let mut connection = server.connect().await.expect("the server responds");
        connection
            .execute(AssertSqlSafe(create))
            .await
            .expect("the server responds");
        connection.close().await.expect("the server responds");
        let store = store(&server.clone().database(&name)).await;
        Self {
            storage: Store::new(store.storage()),
            store,
            server,
            name,
        }
    }

    /// The connection options of this database.
    pub(crate) fn options(&self) -> PgConnectOptions {
        self.server.clone().database(&self.name)
    }

    /// Opens a connection outside of the store.
    pub(crate) async fn connect(&self) -> PgConnection {
        self.options().connect().await.expect("the server responds")
    }
}

/// Waits until `count` connections wait for a lock.
pub(crate) async fn waiting(connection: &mut PgConnection, count: i64) {
    loop {
        let waiting: i64 = sqlx::query_scalar(WAITING)
            .fetch_one(&mut *connection)
            .await
            .expect("the server responds");
        if waiting == count {
            return;
        }
    }
}

/// Connects a store.
pub(crate) async fn store(options: &PgConnectOptions) -> PostgresStore {
    let url = options.to_url_lossy();
    PostgresStore::connect(
        url.as_str(),
        PostgresOptions::default(),
        &TaskTracker::new(),
    )
    .await
    .expect("the server responds")
}

impl Deref for Database {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.storage
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let server = self.server.clone();
        let drop_it = format!("drop database {} with (force)", self.name);
        // A separate thread, because this may be inside a runtime, where nothing may block.
        let dropping = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("the server responds");
            runtime.block_on(async move {
                let mut connection = server.connect().await.expect("the server responds");
                connection
                    .execute(AssertSqlSafe(drop_it))
                    .await
                    .expect("the server responds");
            });
        });
        // A failure here must not hide the failure of the test.
        let _ = dropping.join();
    }
}
