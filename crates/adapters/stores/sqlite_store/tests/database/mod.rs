//! A new, migrated database for a test.
#![expect(
    clippy::unwrap_used,
    reason = "a fixture that cannot be made fails its test"
)]

use contract::Store;
use sqlite_store::{SqliteOptions, SqliteStore};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

/// Returns the URL of a database in `folder`.
pub(crate) fn url(folder: &TempDir) -> String {
    format!("sqlite://{}/data/test.db", folder.path().display())
}

/// Creates and migrates the database.
pub(crate) async fn migrated(url: &str) -> Store {
    let store = SqliteStore::open(url, SqliteOptions::default(), &TaskTracker::new())
        .await
        .unwrap();
    store.migrate().await.unwrap();
    Store::new(store.storage())
}
