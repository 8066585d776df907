//! The first API key of a store. It is stored, then shown, and only then recorded as existing.

use domain::Credential;
use ports::{RepositoryError, ShowKey};
use sqlx::PgConnection;

use crate::{PostgresStore, credentials, error::from_sqlx, store_state, tenants};

/// The number is arbitrary and the same in every process.
const LOCK: &str = "select pg_advisory_xact_lock(7310279084265173)";
const DELETE: &str = "delete from credentials where id = $1 and kind = 'key'";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[LOCK, DELETE];

pub(crate) async fn insert(
    store: &PostgresStore,
    key: &Credential,
    show: ShowKey,
) -> Result<bool, RepositoryError> {
    let (steps, key) = (store.clone(), key.clone());
    store
        .connections
        .transaction(move |connection| {
            Box::pin(async move {
                // Other processes wait until the key is recorded or deleted, or until the
                // connection of a process that ended is closed. The steps commit on another
                // connection.
                let locked = sqlx::query(LOCK).execute(connection).await;
                locked.map_err(from_sqlx)?;
                if !write(&steps, key.clone()).await? {
                    return Ok(false);
                }
                let is_shown = show();
                confirm_or_delete(&steps, key, is_shown).await?;
                Ok(is_shown)
            })
        })
        .await
}

/// Stores the key without recording it. Returns `false` if the store has ever contained a key.
async fn write(store: &PostgresStore, key: Credential) -> Result<bool, RepositoryError> {
    store
        .connections
        .transaction(move |connection| {
            Box::pin(async move {
                tenants::lock(connection, &key.tenant).await?;
                store_state::lock(connection).await?;
                if store_state::had_key(connection).await? {
                    return Ok(false);
                }
                // A configured key exists if the previous start ended between the steps.
                delete(connection, &key).await?;
                credentials::write(connection, &key).await?;
                Ok(true)
            })
        })
        .await
}

/// Records that the store has contained a key if the key was shown; deletes the key otherwise.
async fn confirm_or_delete(
    store: &PostgresStore,
    key: Credential,
    is_shown: bool,
) -> Result<(), RepositoryError> {
    store
        .connections
        .transaction(move |connection| {
            Box::pin(async move {
                if is_shown {
                    store_state::record_key(connection).await
                } else {
                    delete(connection, &key).await
                }
            })
        })
        .await
}

async fn delete(connection: &mut PgConnection, key: &Credential) -> Result<(), RepositoryError> {
    let delete = sqlx::query(DELETE).bind(key.id.as_str());
    let deleted = delete.execute(connection).await;
    deleted.map(drop).map_err(from_sqlx)
}
