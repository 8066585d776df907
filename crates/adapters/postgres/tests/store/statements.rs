//! Every statement is understood by a migrated database.

use sqlx::{AssertSqlSafe, Either, Executor, SqlSafeStr, Statement};

use crate::database::Database;

/// Tables of a few rows, which may be read as a whole.
const SMALL: [&str; 4] = ["tenants", "store_state", "nodes", "_sqlx_migrations"];

#[tokio::test(flavor = "multi_thread")]
async fn prepares_every_statement() {
    let database = Database::make().await;
    let mut connection = database.connect().await;
    for statement in postgres_store::statements() {
        let prepared = connection.prepare(statement.into_sql_str()).await;
        assert!(prepared.is_ok(), "{statement}\n{:?}", prepared.err());
    }
}

/// The scan of a whole table, if there is one in `plan`: a sequential one, or one of an index
/// without a condition. Scans that keep the order of an index for a limit have a condition too.
fn whole_scan<'p>(plan: &'p [String]) -> Option<&'p str> {
    let scans = plan
        .iter()
        .enumerate()
        .filter(|(_, line)| line.contains(" Scan "));
    scans
        .filter(|(_, line)| {
            !SMALL
                .iter()
                .any(|small| line.contains(&format!(" on {small} ")))
        })
        .filter(|(_, line)| line.contains("Seq Scan on ") || line.contains("Index"))
        .find(|(at, _)| {
            !plan
                .get(at + 1)
                .is_some_and(|next| next.trim_start().starts_with("Index Cond"))
        })
        .map(|(_, line)| line.as_str())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_statement_reads_a_whole_table() {
    let database = Database::make().await;
    let mut connection = database.connect().await;
    connection
        .execute(sqlx::raw_sql(postgres_store::SETTINGS))
        .await
        .unwrap();
    // The plan that is made once for all values, as long-lived connections use it.
    connection
        .execute("set plan_cache_mode = force_generic_plan")
        .await
        .unwrap();
    for (number, statement) in postgres_store::statements().enumerate() {
        let prepared = connection.prepare(statement.into_sql_str()).await.unwrap();
        let count = prepared
            .parameters()
            .map_or(0, |parameters| match parameters {
                Either::Left(types) => types.len(),
                Either::Right(number) => number,
            });
        let nulls = vec!["null"; count].join(", ");
        let name = format!("statement_{number}");
        let prepare = AssertSqlSafe(format!("prepare {name} as {statement}"));
        connection.execute(prepare).await.unwrap();
        let call = if count == 0 {
            name
        } else {
            format!("{name} ({nulls})")
        };
        let explain = AssertSqlSafe(format!("explain (costs off) execute {call}"));
        let plan: Vec<String> = sqlx::query_scalar(explain)
            .fetch_all(&mut connection)
            .await
            .unwrap();
        assert_eq!(whole_scan(&plan), None, "{statement}\n{plan:#?}");
    }
}
