//! Opening and closing: what the ports do not speak of.

mod database;

use std::{error::Error, os::unix::fs::PermissionsExt as _, path::Path};

use ports::RepositoryError;
use sqlite_store::{LocationError, SqliteOptions, SqliteStore};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

const BESIDE_A_SERVER: SqliteOptions = SqliteOptions {
    exclusive: false,
    max_readers: 1,
};

async fn open(url: &str, options: SqliteOptions) -> Result<SqliteStore, RepositoryError> {
    SqliteStore::open(url, options, &TaskTracker::new()).await
}

fn location_error(error: Option<&RepositoryError>) -> String {
    let error = error.and_then(Error::source);
    let error = error.and_then(<dyn Error>::downcast_ref::<LocationError>);
    error.map_or_else(
        || "no error of the location".to_owned(),
        ToString::to_string,
    )
}

#[tokio::test]
async fn makes_the_folder_and_the_file() {
    let folder = TempDir::new().unwrap();
    open(&database::url(&folder), SqliteOptions::default())
        .await
        .unwrap();
    assert!(folder.path().join("data/test.db").exists());
}

fn mode(path: &Path) -> u32 {
    path.metadata()
        .expect("the file is there")
        .permissions()
        .mode()
        & 0o777
}

#[tokio::test]
async fn what_it_makes_is_for_its_owner_alone() {
    let folder = TempDir::new().unwrap();
    let _store = database::migrated(&database::url(&folder)).await;
    let data = folder.path().join("data");
    assert_eq!(mode(&data), 0o700);
    for name in ["test.db", "test.db-wal", "test.db-shm", "test.db.lock"] {
        assert_eq!(mode(&data.join(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn refuses_a_file_that_another_process_serves() {
    let folder = TempDir::new().unwrap();
    let url = database::url(&folder);
    let _first = database::migrated(&url).await;
    let second = open(&url, SqliteOptions::default()).await.err();
    assert!(location_error(second.as_ref()).starts_with("another process uses the database"));
}

#[tokio::test]
async fn a_command_works_beside_the_process_that_serves() {
    let folder = TempDir::new().unwrap();
    let url = database::url(&folder);
    let database = database::migrated(&url).await;
    let beside = open(&url, BESIDE_A_SERVER).await.unwrap().storage();
    let at = domain::Timestamp::from_milliseconds(1);
    beside
        .tenants
        .insert(&"beside".parse().unwrap(), at)
        .await
        .unwrap();
    database
        .tenants
        .insert(&"within".parse().unwrap(), at)
        .await
        .unwrap();
    assert_eq!(database.tenants.list().await.unwrap().len(), 3);
}

#[tokio::test]
async fn gives_the_file_free_when_it_is_closed() {
    let folder = TempDir::new().unwrap();
    let url = database::url(&folder);
    let first = open(&url, SqliteOptions::default()).await.unwrap();
    first.migrate().await.unwrap();
    first.close().await;
    let late = first.storage().tenants.list().await;
    assert!(matches!(late, Err(RepositoryError::Unavailable(_))));
    let second = open(&url, SqliteOptions::default()).await.unwrap();
    assert_eq!(second.pending_migrations().await.unwrap(), 0);
    assert_eq!(second.storage().tenants.list().await.unwrap().len(), 1);
}

#[tokio::test]
async fn counts_migrations_until_they_are_carried_out() {
    let folder = TempDir::new().unwrap();
    let store = open(&database::url(&folder), SqliteOptions::default())
        .await
        .unwrap();
    assert!(store.pending_migrations().await.unwrap() > 0);
    store.migrate().await.unwrap();
    assert_eq!(store.pending_migrations().await.unwrap(), 0);
}

#[tokio::test]
async fn refuses_to_keep_data_in_memory() {
    let refused = open("sqlite::memory:", SqliteOptions::default())
        .await
        .err();
    assert!(location_error(refused.as_ref()).contains("in memory is not supported"));
    assert!(!Path::new(":memory:").exists());
}
