//! A Postgres database of a test's own, on the server that `TEST_DATABASE_URL` names.

use std::{str::FromStr, thread};

use sqlx::{AssertSqlSafe, ConnectOptions, Executor, postgres::PgConnectOptions};

/// A database that is dropped together with this value.
pub(crate) struct Database {
    server: PgConnectOptions,
    name: String,
}

impl Database {
    /// An empty one.
    pub(crate) async fn make() -> Self {
        #[expect(clippy::disallowed_methods, reason = "the one setting of these tests")]
        let url = std::env::var("TEST_DATABASE_URL")
            .expect("TEST_DATABASE_URL is not set: run `cargo xtask test --install`");
        #[expect(
            clippy::disallowed_methods,
            reason = "names a database and nothing else"
        )]
        let name = format!("test_{}", uuid::Uuid::now_v7().simple());
        let server = PgConnectOptions::from_str(&url).expect("a URL of Postgres");
        let create = format!("create database {name} template template0 encoding 'UTF8'");
        execute(&server, create).await;
        Self { server, name }
    }

    /// The value of `DATABASE_URL`.
    pub(crate) fn url(&self) -> String {
        self.options().to_url_lossy().into()
    }

    /// The connection parameters.
    pub(crate) fn options(&self) -> PgConnectOptions {
        self.server.clone().database(&self.name)
    }
}

async fn execute(database: &PgConnectOptions, statement: String) {
    let mut connection = database.connect().await.expect("the server answers");
    connection
        .execute(AssertSqlSafe(statement))
        .await
        .expect("the server answers");
}

impl Drop for Database {
    fn drop(&mut self) {
        let server = self.server.clone();
        let drop_it = format!("drop database {} with (force)", self.name);
        // A separate thread, because the caller may be inside a runtime, which must not block.
        let dropping = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(execute(&server, drop_it));
        });
        // A failure here must not hide why the test itself failed.
        let _ = dropping.join();
    }
}
