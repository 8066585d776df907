//! Tests that prepare every statement and check its query plan.

use std::collections::HashMap;

use sqlx::{AssertSqlSafe, Either, Executor, PgConnection, SqlSafeStr, Statement};

use crate::database::Database;

/// Tables with few rows, which may be read completely.
const SMALL: [&str; 10] = [
    "blob_stores",
    // Those that are not deleted yet.
    "deleted_blobs",
    "pg_authid",
    "pg_database",
    "tenants",
    "store_state",
    "nodes",
    "far_nodes",
    "signing_keys",
    "_sqlx_migrations",
];

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_can_be_prepared() {
    let database = Database::new().await;
    let mut connection = database.connect().await;
    for statement in postgres_store::statements() {
        let prepared = connection
            .prepare(AssertSqlSafe(&*statement).into_sql_str())
            .await;
        assert!(prepared.is_ok(), "{statement}\n{:?}", prepared.err());
    }
}

/// The indexes of agents to purge, of turns that no node runs, and of queued turns. They are always read from the start.
const QUEUE_INDEXES: [&str; 3] = ["agents_unmarked", "turns_unowned", "turns_waiting"];

/// Returns the columns of every index, in order.
async fn indexes(connection: &mut PgConnection) -> HashMap<String, Vec<String>> {
    let columns = "select c.relname::text, array_agg(a.attname::text order by k.messages) \
        from pg_index i join pg_class c on c.oid = i.indexrelid \
        cross join lateral unnest(i.indkey::int2[]) with ordinality as k (number, messages) \
        join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number \
        where c.relnamespace = 'public'::regnamespace group by c.relname";
    let columns: Vec<(String, Vec<String>)> = sqlx::query_as(columns)
        .fetch_all(connection)
        .await
        .expect("the statement succeeds");
    columns.into_iter().collect()
}

/// Returns true if a join filter refers to `t`, the tenant, which has at most one row.
fn names_tenant(filter: &str) -> bool {
    filter.contains("(t.") || filter.contains(" t.")
}

#[test]
fn only_the_alias_t_is_the_tenant() {
    assert!(names_tenant("(t.id = a.tenant_id)"));
    assert!(names_tenant("((a.id = $2) AND (a.tenant_id = t.id))"));
    assert!(!names_tenant("(lost.id = agent.tenant_id)"));
    assert!(!names_tenant("((a.id = $2) AND (target.id = a.id))"));
}

/// Returns the first step of a plan whose cost grows with the size of a table: a sequential scan,
/// the scan of an index whose condition does not fix the leading columns without a gap, or a join
/// that reads all rows of a tenant to find the one with a known key.
fn growing<'p>(plan: &'p [String], indexes: &HashMap<String, Vec<String>>) -> Option<&'p str> {
    let is_growing = |(at, line): &(usize, &String)| {
        let join = line.trim_start().strip_prefix("Join Filter: ");
        if let Some(filter) = join {
            return !names_tenant(filter);
        }
        let mut words = line.split_whitespace();
        let is_read = words.any(|word| word == "on");
        if is_read && words.next().is_some_and(|table| SMALL.contains(&table)) {
            return false;
        }
        let Some((_, index)) = line.split_once(" using ") else {
            return line.contains("Seq Scan on ") || line.contains("Bitmap");
        };
        let condition = plan.get(at + 1).map_or("", |next| next.trim_start());
        let is_fixed = |column: &String| {
            let text = format!("{column} ");
            condition.starts_with("Index Cond")
                && (condition.contains(&format!("({text}"))
                    || condition.contains(&format!("({column},"))
                    || condition.contains(&format!(" {column})")))
        };
        let index = index.split(' ').next().unwrap_or_default();
        let columns = &indexes[index];
        let fixed: Vec<bool> = columns.iter().map(is_fixed).collect();
        !QUEUE_INDEXES.contains(&index) && !fixed[0]
            || fixed.windows(2).any(|pair| pair == [false, true])
    };
    let mut lines = plan.iter().enumerate();
    lines.find(is_growing).map(|(_, line)| line.as_str())
}

/// Connections and their plans may outlive the time in which tables are small, so the plans for
/// empty tables must be good for large ones.
#[tokio::test(flavor = "multi_thread")]
async fn the_cost_of_no_statement_grows_with_the_tables() {
    let database = Database::new().await;
    let mut connection = database.connect().await;
    let indexes = indexes(&mut connection).await;
    let settings = sqlx::raw_sql(postgres_store::SETTINGS);
    connection
        .execute(settings)
        .await
        .expect("the statement succeeds");
    let mut found = Vec::new();
    for (number, statement) in postgres_store::statements().enumerate() {
        let plan = plan(&mut connection, number, &statement).await;
        if let Some(line) = growing(&plan, &indexes) {
            found.push(format!("{line}\n{statement}\n{plan:#?}"));
        }
        let of_user = plan
            .iter()
            .filter(|line| line.contains("conversations_by_user"));
        if of_user.count() < statement.matches(" and c.user_id = $").count() {
            found.push(format!("all users\n{statement}\n{plan:#?}"));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

async fn plan(connection: &mut PgConnection, number: usize, statement: &str) -> Vec<String> {
    let prepared = connection
        .prepare(AssertSqlSafe(statement).into_sql_str())
        .await
        .expect("the statement succeeds");
    let count = match prepared.parameters() {
        Some(Either::Left(types)) => types.len(),
        Some(Either::Right(count)) => count,
        None => 0,
    };
    let name = format!("statement_{number}");
    let prepare = AssertSqlSafe(format!("prepare {name} as {statement}"));
    connection
        .execute(prepare)
        .await
        .expect("the statement succeeds");
    let nulls = vec!["null"; count].join(", ");
    let call = match count {
        0 => name,
        _ => format!("{name} ({nulls})"),
    };
    sqlx::query_scalar(AssertSqlSafe(format!("explain (costs off) execute {call}")))
        .fetch_all(connection)
        .await
        .expect("the statement succeeds")
}
