//! The state of the store as a whole.

use ports::RepositoryError;
use sqlx::{SqliteConnection, SqliteExecutor};

use crate::{
    SqliteStore,
    error::{from_sqlx, in_table},
};

const ACCESS_VERSION: &str = "select access_version from store_state";
const RAISE_ACCESS_VERSION: &str = "update store_state set access_version = access_version + 1";
const HAD_KEY: &str = "select had_key from store_state";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[ACCESS_VERSION, RAISE_ACCESS_VERSION, HAD_KEY];

/// Returns the version that grows with every change that restricts access.
pub(crate) async fn access_version(store: &SqliteStore) -> Result<i64, RepositoryError> {
    let read = sqlx::query_scalar(ACCESS_VERSION).fetch_one(&store.own_reader);
    read.await.map_err(in_table("store_state"))
}

/// Raises the version, so that every node discards its cached credentials.
pub(crate) async fn raise_access_version(
    connection: &mut SqliteConnection,
) -> Result<(), RepositoryError> {
    let raised = sqlx::query(RAISE_ACCESS_VERSION).execute(connection).await;
    raised.map(drop).map_err(from_sqlx)
}

/// Returns whether the store has ever contained a key.
pub(crate) async fn had_key(executor: impl SqliteExecutor<'_>) -> Result<bool, RepositoryError> {
    let read = sqlx::query_scalar(HAD_KEY).fetch_one(executor);
    read.await.map_err(in_table("store_state"))
}
