//! The state of the store as a whole.

use ports::RepositoryError;
use relational::{Store as _, read};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{PostgresStore, error::from_sqlx};

relational::statements! {
    const LOCK: &str = "select access_version from store_state for update";

    const STORE_ID: &str = "select store_id from store_state";
}

/// Locks the state until the transaction ends.
pub(crate) async fn lock(connection: &mut PgConnection) -> Result<(), RepositoryError> {
    let locked = sqlx::query(LOCK).execute(connection).await;
    locked.map(drop).map_err(from_sqlx)
}

/// Returns the random id of the store.
pub(crate) async fn store_id(store: &PostgresStore) -> Result<Uuid, RepositoryError> {
    let found = store.fetch_optional(STORE_ID, &[]).await?;
    read::value("store_state", found)
}
