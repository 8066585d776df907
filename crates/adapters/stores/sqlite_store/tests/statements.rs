//! Tests that prepare every statement and check its query plan.

mod database;

use sqlx::{AssertSqlSafe, Connection, Executor, SqlSafeStr, SqliteConnection};
use tempfile::TempDir;

async fn connect(url: &str) -> SqliteConnection {
    SqliteConnection::connect(url).await.expect("a database")
}

#[tokio::test]
async fn every_statement_can_be_prepared() {
    let folder = TempDir::new().unwrap();
    let url = database::url(&folder);
    database::migrated(&url).await;
    let mut connection = connect(&url).await;
    for statement in sqlite_store::statements() {
        let prepared = connection.prepare(statement.into_sql_str()).await;
        assert!(prepared.is_ok(), "{statement}\n{:?}", prepared.err());
    }
}

/// Tables with few rows, which may be read completely.
const SMALL: [&str; 10] = [
    "blob_stores",
    // Those that are not deleted yet.
    "deleted_blobs",
    "tenants",
    "store_state",
    "nodes",
    "far_nodes",
    "signing_keys",
    // Those that have not ended.
    "erasures",
    "sqlite_master",
    "_sqlx_migrations",
];

/// A read of the whole index of deleted agents, in which agents stay for a day.
const DELETED_AGENTS: &str = "agents_deleted (deleted_at>?)";

/// The indexes of queued turns, and of those that no node runs, which are few.
const SMALL_INDEXES: [&str; 2] = [" USING INDEX turns_waiting", " USING INDEX turns_unowned"];

/// Returns true if the cost of a plan's step grows with the size of a table, as far as the plan
/// shows.
fn grows(step: &str, materialized: &[&str]) -> bool {
    let mut words = step.split(' ');
    let is_scan = words.next() == Some("SCAN");
    let subject = words.next().unwrap_or_default();
    let is_small = SMALL.contains(&subject);
    let is_bounded = step.contains("VIRTUAL TABLE")
        || step == "SCAN CONSTANT ROW"
        || is_small
        || materialized.contains(&subject);
    let uses_small_index = SMALL_INDEXES.iter().any(|index| step.contains(index));
    !uses_small_index
        && ((is_scan && !is_bounded)
            || (!is_small && step.contains("(tenant_id=?)"))
            || step.contains(DELETED_AGENTS))
}

#[tokio::test]
async fn no_statement_reads_a_whole_table() {
    let folder = TempDir::new().unwrap();
    let url = database::url(&folder);
    database::migrated(&url).await;
    let mut connection = connect(&url).await;
    for statement in sqlite_store::statements() {
        let explain = AssertSqlSafe(format!("explain query plan {statement}"));
        let plan: Vec<(i64, i64, i64, String)> = sqlx::query_as(explain)
            .fetch_all(&mut connection)
            .await
            .unwrap();
        let steps: Vec<&str> = plan.iter().map(|(.., step)| step.as_str()).collect();
        let materialized: Vec<&str> = steps
            .iter()
            .filter_map(|step| {
                let name = step.strip_prefix("MATERIALIZE ");
                name.or_else(|| step.strip_prefix("CO-ROUTINE "))
            })
            .collect();
        let growing = steps.iter().find(|step| grows(step, &materialized));
        assert_eq!(growing, None, "{statement}\n{steps:#?}");
        if statement.contains(" and c.user_id = ?") {
            let is_of_user =
                |step: &&&str| step.contains("conversations_by_user (tenant_id=? AND user_id=?");
            let expected = statement.matches(" and c.user_id = ?").count();
            let found = steps.iter().filter(is_of_user).count();
            assert!(found >= expected, "{statement}\n{steps:#?}");
        }
    }
}
