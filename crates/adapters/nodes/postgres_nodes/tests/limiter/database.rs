//! A separate database for each test.

use std::{str::FromStr as _, thread};

use dev_tools::postgres::test_server_url;
use postgres_store::{PostgresOptions, PostgresStore};
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Executor as _, PgConnection, postgres::PgConnectOptions,
};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

/// A migrated database, which is dropped with this value.
pub(crate) struct Database {
    server: PgConnectOptions,
    name: String,
}

#[expect(clippy::disallowed_methods, reason = "names a database or a node")]
pub(crate) fn new_id() -> Uuid {
    Uuid::now_v7()
}

impl Database {
    pub(crate) async fn new() -> Self {
        let server = PgConnectOptions::from_str(&test_server_url()).expect("a URL of Postgres");
        let name = format!("test_{}", new_id().simple());
        let create = format!("create database {name} template template0 encoding 'UTF8'");
        let mut connection = server.connect().await.expect("the server responds");
        let created = connection.execute(AssertSqlSafe(create)).await;
        created.expect("the server responds");
        let database = Self { server, name };
        let url = database.options().to_url_lossy();
        let (options, tasks) = (PostgresOptions::default(), TaskTracker::new());
        let store = PostgresStore::connect(url.as_str(), options, &tasks).await;
        let store = store.expect("the server responds");
        store.migrate().await.expect("the server responds");
        store.close().await;
        database
    }

    /// The connection options of this database.
    pub(crate) fn options(&self) -> PgConnectOptions {
        self.server.clone().database(&self.name)
    }

    pub(crate) async fn connect(&self) -> PgConnection {
        self.options().connect().await.expect("the server responds")
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
                .expect("a runtime");
            runtime.block_on(async move {
                let mut connection = server.connect().await.expect("the server responds");
                let dropped = connection.execute(AssertSqlSafe(drop_it)).await;
                dropped.expect("the server responds");
            });
        });
        // A failure here must not hide the failure of the test.
        let _ = dropping.join();
    }
}
