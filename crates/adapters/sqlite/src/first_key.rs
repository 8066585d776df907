//! The first API key of a store. It is stored, then shown, and only then recorded as existing.

use domain::Credential;
use ports::{RepositoryError, ShowKey};
use sqlx::SqliteConnection;

use crate::{SqliteStore, credentials, error::from_sqlx, store_state, tenants};

const DELETE: &str = "delete from credentials where id = ?1 and kind = 'key'";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[DELETE];

pub(crate) async fn insert(
    store: &SqliteStore,
    key: &Credential,
    show: ShowKey,
) -> Result<bool, RepositoryError> {
    // The lock file excludes other server processes.
    let _one_at_a_time = store.first_key.lock().await;
    if !write(store, key.clone()).await? {
        return Ok(false);
    }
    let is_shown = show();
    confirm_or_delete(store, key.clone(), is_shown).await?;
    Ok(is_shown)
}

/// Stores the key without recording it. Returns `false` if the store has ever contained a key.
async fn write(store: &SqliteStore, key: Credential) -> Result<bool, RepositoryError> {
    store
        .writer
        .transaction(move |connection| {
            Box::pin(async move {
                tenants::lock(connection, &key.tenant).await?;
                if store_state::had_key(&mut *connection).await? {
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
    store: &SqliteStore,
    key: Credential,
    is_shown: bool,
) -> Result<(), RepositoryError> {
    store
        .writer
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

async fn delete(
    connection: &mut SqliteConnection,
    key: &Credential,
) -> Result<(), RepositoryError> {
    let delete = sqlx::query(DELETE).bind(key.id.as_str());
    let deleted = delete.execute(connection).await;
    deleted.map(drop).map_err(from_sqlx)
}
