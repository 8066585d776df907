//! Tests of opening and closing a store, which no port covers.

mod database;

use std::{
    error::Error,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use contract::fixture;
use ports::RepositoryError;
use sqlite_store::{LocationError, SqliteOptions, SqliteStore};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

const COMMAND: SqliteOptions = SqliteOptions {
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
async fn opening_a_store_creates_the_folder_and_the_file() {
    let folder = TempDir::new().unwrap();
    open(&database::url(&folder), SqliteOptions::default())
        .await
        .unwrap();
    assert!(folder.path().join("data/test.db").exists());
}

fn mode(path: &Path) -> u32 {
    path.metadata()
        .expect("the file exists")
        .permissions()
        .mode()
        & 0o777
}

#[tokio::test]
async fn only_the_owner_can_access_the_created_files() {
    let folder = TempDir::new().unwrap();
    let _store = database::migrated(&database::url(&folder)).await;
    let data = folder.path().join("data");
    assert_eq!(mode(&data), 0o700);
    for name in ["test.db", "test.db-wal", "test.db-shm", "test.db.lock"] {
        assert_eq!(mode(&data.join(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_file_that_another_process_serves_is_rejected() {
    let folder = TempDir::new().unwrap();
    let url = database::url(&folder);
    let _first = database::migrated(&url).await;
    let second = open(&url, SqliteOptions::default()).await.err();
    assert!(location_error(second.as_ref()).starts_with("another process uses the database"));
}

#[tokio::test]
async fn a_missing_file_is_not_created_beside_its_log() {
    let folder = TempDir::new().unwrap();
    let database = folder.path().join("test.db");
    let log = folder.path().join("test.db-wal");
    fs::write(&log, "changes").unwrap();
    let url = format!("sqlite://{}", database.display());
    for options in [SqliteOptions::default(), COMMAND] {
        let opened = open(&url, options).await.err();
        let error = location_error(opened.as_ref());
        assert!(error.contains("is missing, but its newest changes are in"));
    }
    assert!(log.exists() && !database.exists());
}

#[tokio::test]
async fn a_folder_is_rejected() {
    let folder = TempDir::new().unwrap();
    let url = format!("sqlite://{}", folder.path().display());
    let opened = open(&url, SqliteOptions::default()).await.err();
    let expected = format!(
        "'{}' is not a file, and so not a database",
        folder.path().display()
    );
    assert_eq!(location_error(opened.as_ref()), expected);
}

#[tokio::test]
async fn a_database_that_was_moved_is_still_locked() {
    let folder = TempDir::new().unwrap();
    let _first = database::migrated(&database::url(&folder)).await;
    let moved = folder.path().join("moved.db");
    fs::rename(folder.path().join("data/test.db"), &moved).unwrap();
    let url = format!("sqlite://{}", moved.display());
    let second = open(&url, SqliteOptions::default()).await.err();
    let expected = format!("holds the lock on '{}'", moved.display());
    let error = location_error(second.as_ref());
    assert!(error.ends_with(&expected), "{error}");
}

#[tokio::test]
async fn a_moved_database_is_neither_created_again_nor_exchanged_for_another() {
    let folder = TempDir::new().unwrap();
    let url = database::url(&folder);
    let (database, moved) = (
        folder.path().join("data/test.db"),
        folder.path().join("moved"),
    );
    let store = open(&url, SqliteOptions::default()).await.unwrap();
    store.migrate().await.unwrap();
    fs::rename(folder.path().join("data"), &moved).unwrap();
    let insertion = async || {
        let (agents, agent) = (
            contract::Store::new(store.storage()).agents,
            fixture::agent(1),
        );
        let (tenant, stamp) = (fixture::tenant(), fixture::stamp(0));
        agents.insert(&tenant, &agent, &stamp, None).await
    };
    insertion().await.expect_err("the path leads nowhere");
    assert!(!database.exists());
    fs::create_dir(folder.path().join("data")).unwrap();
    fs::copy(moved.join("test.db"), &database).unwrap();
    insertion()
        .await
        .expect_err("the path leads to another file");
    fs::remove_dir_all(folder.path().join("data")).unwrap();
    fs::rename(&moved, folder.path().join("data")).unwrap();
    insertion().await.expect("the same file is back");
}

#[tokio::test]
async fn a_database_without_its_lock_file_is_still_locked() {
    let folder = TempDir::new().unwrap();
    let url = database::url(&folder);
    let _first = database::migrated(&url).await;
    fs::remove_file(folder.path().join("data/test.db.lock")).unwrap();
    let second = open(&url, SqliteOptions::default()).await.err();
    assert!(location_error(second.as_ref()).ends_with("data/test.db'"));
}

#[tokio::test]
async fn all_files_are_beside_the_target_of_a_symbolic_link() {
    let folder = TempDir::new().unwrap();
    let link = folder.path().join("link.db");
    let target = folder.path().join("data/test.db");
    fs::create_dir(folder.path().join("data")).unwrap();
    symlink(&target, &link).unwrap();
    let _store = database::migrated(&format!("sqlite://{}", link.display())).await;
    for suffix in ["", "-wal", "-shm", ".lock"] {
        let name = format!("test.db{suffix}");
        assert_eq!(mode(&folder.path().join("data").join(name)), 0o600);
        let beside_link = folder.path().join(format!("link.db{suffix}"));
        assert_eq!(beside_link.exists(), suffix.is_empty(), "{suffix}");
    }
    let second = open(&database::url(&folder), SqliteOptions::default()).await;
    assert!(location_error(second.err().as_ref()).starts_with("another process uses"));
}

#[tokio::test]
async fn a_file_with_two_names_is_rejected_by_servers_and_commands() {
    let folder = TempDir::new().unwrap();
    let url = database::url(&folder);
    let _first = database::migrated(&url).await;
    let other = folder.path().join("other.db");
    fs::hard_link(folder.path().join("data/test.db"), &other).unwrap();
    for url in [url, format!("sqlite://{}", other.display())] {
        for options in [SqliteOptions::default(), COMMAND] {
            let error = location_error(open(&url, options).await.err().as_ref());
            assert!(error.contains("has 2 hard links"), "{url}: {error}");
        }
    }
}

#[tokio::test]
async fn a_command_can_use_the_store_of_a_running_server() {
    let folder = TempDir::new().unwrap();
    let url = database::url(&folder);
    let database = database::migrated(&url).await;
    let command = contract::Store::new(open(&url, COMMAND).await.unwrap().storage());
    let at = domain::Timestamp::from_milliseconds(1);
    command
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
async fn closing_a_store_releases_its_file() {
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
async fn migrations_are_pending_until_they_are_applied() {
    let folder = TempDir::new().unwrap();
    let store = open(&database::url(&folder), SqliteOptions::default())
        .await
        .unwrap();
    assert!(store.pending_migrations().await.unwrap() > 0);
    store.migrate().await.unwrap();
    assert_eq!(store.pending_migrations().await.unwrap(), 0);
}

#[tokio::test]
async fn a_database_in_memory_is_rejected() {
    let refused = open("sqlite::memory:", SqliteOptions::default())
        .await
        .err();
    assert!(location_error(refused.as_ref()).contains("in memory is not supported"));
    assert!(!Path::new(":memory:").exists());
}
