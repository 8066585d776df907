//! `docs/privacy.md` names every column of both stores.

use std::collections::BTreeSet;

use postgres_store::{PostgresOptions, PostgresStore};
use sqlite_store::{SqliteOptions, SqliteStore};
use sqlx::{ConnectOptions as _, sqlite::SqliteConnectOptions};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

use crate::postgres::Database;

const DOCUMENT: &str = include_str!("../../../../docs/privacy.md");

type Columns = BTreeSet<(String, String)>;

/// The columns in the table of the document.
fn documented() -> Columns {
    let (_, table) = DOCUMENT.split_once("## Every column").expect("the section");
    let names = |cell: &str| -> Vec<String> {
        let parts = cell.split('`').skip(1).step_by(2);
        parts.map(ToOwned::to_owned).collect()
    };
    let mut columns = Columns::new();
    for row in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = row.split('|').collect();
        assert_eq!(cells.len(), 6, "{row}");
        assert!(
            cells[3..5].iter().all(|cell| !cell.trim().is_empty()),
            "{row}"
        );
        let [table] = &*names(cells[1]) else {
            panic!("a table: {row}")
        };
        for column in names(cells[2]) {
            assert!(columns.insert((table.clone(), column)), "twice: {row}");
        }
    }
    columns
}

#[tokio::test]
async fn the_document_about_privacy_names_every_column() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("test.db");
    let url = format!("sqlite://{}", file.display());
    let tasks = TaskTracker::new();
    let store = SqliteStore::open(&url, SqliteOptions::default(), &tasks)
        .await
        .unwrap();
    store.migrate().await.unwrap();
    let mut connection = SqliteConnectOptions::new()
        .filename(&file)
        .connect()
        .await
        .unwrap();
    let statement = "select t.name, c.name from sqlite_master t join pragma_table_info(t.name) c \
        where t.type = 'table' and t.name not like 'sqlite\\_%' escape '\\'";
    let of_sqlite: Vec<(String, String)> = sqlx::query_as(statement)
        .fetch_all(&mut connection)
        .await
        .unwrap();

    let database = Database::make().await;
    let options = PostgresOptions::default();
    let store = PostgresStore::connect(&database.url(), options, &tasks)
        .await
        .unwrap();
    store.migrate().await.unwrap();
    let mut connection = database.options().connect().await.unwrap();
    let statement = "select table_name::text, column_name::text from information_schema.columns \
        where table_schema = 'public'";
    let of_postgres: Vec<(String, String)> = sqlx::query_as(statement)
        .fetch_all(&mut connection)
        .await
        .unwrap();
    store.close().await;

    assert!(of_sqlite.len() > 100 && of_postgres.len() > 100);
    let stored: Columns = of_sqlite.into_iter().chain(of_postgres).collect();
    let documented = documented();
    let missing: Vec<_> = stored.difference(&documented).collect();
    let gone: Vec<_> = documented.difference(&stored).collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "missing: {missing:?}, gone: {gone:?}"
    );
}
