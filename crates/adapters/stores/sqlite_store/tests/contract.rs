//! The contract tests of all ports, run with SQLite.

mod database;

use std::ops::Deref;

use contract::Store;
use tempfile::TempDir;

/// A database in a temporary folder, which is deleted with this value.
struct Database {
    storage: Store,
    _folder: TempDir,
}

impl Deref for Database {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.storage
    }
}

async fn fixture() -> Database {
    let folder = tempfile::tempdir().expect("a temporary folder");
    Database {
        storage: database::migrated(&database::url(&folder)).await,
        _folder: folder,
    }
}

contract::storage_contract!(crate::fixture);
