//! Tests that prepare every statement.

use sqlx::{Executor as _, SqlSafeStr as _};

use crate::database::Database;

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_can_be_prepared() {
    let database = Database::new().await;
    let mut connection = database.connect().await;
    for statement in postgres_limiter::STATEMENTS {
        let prepared = connection.prepare(statement.into_sql_str()).await;
        assert!(prepared.is_ok(), "{statement}\n{:?}", prepared.err());
    }
}
