//! The state of the store as a whole.

use ports::RepositoryError;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    PostgresStore,
    error::{from_sqlx, in_table},
};

const LOCK: &str = "select access_version from store_state for update";
const ACCESS_VERSION: &str = "select access_version from store_state";
const RAISE_ACCESS_VERSION: &str = "update store_state set access_version = access_version + 1";
const HAD_KEY: &str = "select had_key from store_state";
const STORE_ID: &str = "select store_id from store_state";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[
    LOCK,
    ACCESS_VERSION,
    RAISE_ACCESS_VERSION,
    HAD_KEY,
    STORE_ID,
];

/// Locks the state until the transaction ends.
pub(crate) async fn lock(connection: &mut PgConnection) -> Result<(), RepositoryError> {
    let locked = sqlx::query(LOCK).execute(connection).await;
    locked.map(drop).map_err(from_sqlx)
}

/// Returns the version that grows with every change that restricts access.
pub(crate) async fn access_version(store: &PostgresStore) -> Result<i64, RepositoryError> {
    let read = sqlx::query(ACCESS_VERSION);
    store.connections.fetch_value("store_state", read).await
}

/// Raises the version, so that every node discards its cached credentials.
pub(crate) async fn raise_access_version(
    connection: &mut PgConnection,
) -> Result<(), RepositoryError> {
    let raised = sqlx::query(RAISE_ACCESS_VERSION).execute(connection).await;
    raised.map(drop).map_err(from_sqlx)
}

/// Returns whether the store has ever contained a key.
pub(crate) async fn had_key(connection: &mut PgConnection) -> Result<bool, RepositoryError> {
    let read = sqlx::query_scalar(HAD_KEY).fetch_one(connection);
    read.await.map_err(in_table("store_state"))
}

/// Returns the random id of the store.
pub(crate) async fn store_id(store: &PostgresStore) -> Result<Uuid, RepositoryError> {
    let read = sqlx::query(STORE_ID);
    store.connections.fetch_value("store_state", read).await
}
