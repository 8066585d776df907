//! Every statement is understood by a migrated database.

mod database;

use sqlx::{AssertSqlSafe, Connection, Executor, SqlSafeStr, SqliteConnection};
use tempfile::TempDir;

#[tokio::test]
async fn prepares_every_statement() {
    let folder = TempDir::new().unwrap();
    let url = database::url(&folder);
    database::migrated(&url).await;
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    for statement in sqlite_store::statements() {
        let prepared = connection.prepare(statement.into_sql_str()).await;
        assert!(prepared.is_ok(), "{statement}\n{:?}", prepared.err());
    }
}

/// Tables of a few rows, which may be read as a whole.
const SMALL: [&str; 6] = [
    "tenants",
    "store_state",
    "nodes",
    "signing_keys",
    "sqlite_master",
    "_sqlx_migrations",
];

/// The index of deleted agents, read from its beginning to its end: agents stay in it for a day.
const OF_A_DAY: &str = "agents_deleted (deleted_at>?)";

/// The index of the turns that wait, which are few.
const OF_WHAT_WAITS: &str = " USING INDEX turns_waiting";

/// Whether a step of a plan costs the more the larger a table is, as far as the plan tells.
fn grows(step: &str, made_on_the_way: &[&str]) -> bool {
    let mut words = step.split(' ');
    let is_scan = words.next() == Some("SCAN");
    let subject = words.next().unwrap_or_default();
    let is_bounded = step.contains("VIRTUAL TABLE")
        || step == "SCAN CONSTANT ROW"
        || SMALL.contains(&subject)
        || made_on_the_way.contains(&subject);
    let is_of_what_waits = step.contains(OF_WHAT_WAITS);
    !is_of_what_waits
        && ((is_scan && !is_bounded) || step.contains("(tenant_id=?)") || step.contains(OF_A_DAY))
}

#[tokio::test]
async fn no_statement_reads_a_whole_table() {
    let folder = TempDir::new().unwrap();
    let url = database::url(&folder);
    database::migrated(&url).await;
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    for statement in sqlite_store::statements() {
        let explain = AssertSqlSafe(format!("explain query plan {statement}"));
        let plan: Vec<(i64, i64, i64, String)> = sqlx::query_as(explain)
            .fetch_all(&mut connection)
            .await
            .unwrap();
        let steps: Vec<&str> = plan.iter().map(|(.., step)| step.as_str()).collect();
        let made_on_the_way: Vec<&str> = steps
            .iter()
            .filter_map(|step| {
                let made = step.strip_prefix("MATERIALIZE ");
                made.or_else(|| step.strip_prefix("CO-ROUTINE "))
            })
            .collect();
        let growing = steps.iter().find(|step| grows(step, &made_on_the_way));
        assert_eq!(growing, None, "{statement}\n{steps:#?}");
    }
}
