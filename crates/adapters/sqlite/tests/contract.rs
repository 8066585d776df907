//! Every promise of the ports, kept by SQLite.

use std::ops::Deref;

use ports::Storage;
use sqlite_store::{SqliteOptions, SqliteStore};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

/// A fresh database in a folder of its own, which goes with it.
struct Database {
    storage: Storage,
    _folder: TempDir,
}

impl Deref for Database {
    type Target = Storage;

    fn deref(&self) -> &Storage {
        &self.storage
    }
}

async fn fixture() -> Database {
    let folder = TempDir::new().unwrap();
    let url = format!("sqlite://{}/test.db", folder.path().display());
    let store = SqliteStore::open(&url, SqliteOptions::default(), &TaskTracker::new())
        .await
        .unwrap();
    store.migrate().await.unwrap();
    Database {
        storage: store.storage(),
        _folder: folder,
    }
}

contract::storage_contract!(crate::fixture);
