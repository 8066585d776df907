//! Tests of the statements and of the settings of the connection.

use sqlx::{Executor as _, SqlSafeStr as _};

use crate::database::Database;

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_can_be_prepared() {
    let database = Database::new().await;
    let mut connection = database.connect().await;
    for statement in postgres_nodes::STATEMENTS {
        let prepared = connection.prepare(statement.into_sql_str()).await;
        assert!(prepared.is_ok(), "{statement}\n{:?}", prepared.err());
    }
}

/// Behind a pooler, another client may get the connection, and must not lose acknowledged commits.
#[tokio::test(flavor = "multi_thread")]
async fn commits_wait_for_the_log() {
    let database = Database::new().await;
    let mut connection = database.connect().await;
    for settings in ["set synchronous_commit = on", postgres_nodes::SETTINGS] {
        connection.execute(settings).await.unwrap();
    }
    let shown = sqlx::query_scalar::<_, String>("show synchronous_commit");
    let shown = shown.fetch_one(&mut connection).await.unwrap();
    assert_eq!(shown, "on");
}
