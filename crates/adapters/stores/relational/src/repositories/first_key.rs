//! The first API key of a store. It is stored, then shown, and only then recorded as existing.

use domain::Credential;
use ports::{RepositoryError, Rows, ShowKey};

use super::{CredentialSql, credentials::delete_key, store_state::had_key, tenants};

/// Stores, shows and records the first key. Returns `false` if the store has ever contained a key,
/// or if `show` failed. No other process may do the same at the same time.
pub async fn insert_first_key<S: CredentialSql>(
    store: &S,
    key: &Credential,
    show: ShowKey,
) -> Result<bool, RepositoryError> {
    if !write(store, key.clone()).await? {
        return Ok(false);
    }
    let is_shown = show();
    confirm_or_delete(store, key.clone(), is_shown).await?;
    Ok(is_shown)
}

/// Stores the key without recording it. Returns `false` if the store has ever contained a key.
async fn write<S: CredentialSql>(store: &S, key: Credential) -> Result<bool, RepositoryError> {
    store
        .transaction(move |connection| {
            Box::pin(async move {
                tenants::lock::<S>(connection, &key.tenant).await?;
                S::lock_state(connection).await?;
                if had_key::<S>(connection).await? {
                    return Ok(false);
                }
                // A configured key exists if the previous start ended between the steps.
                delete_key::<S>(connection, &key.id).await?;
                let rows = Rows {
                    credentials: vec![key],
                    ..Rows::default()
                };
                S::write(connection, &rows).await?;
                Ok(true)
            })
        })
        .await
}

/// Records that the store has contained a key if the key was shown; deletes the key otherwise.
async fn confirm_or_delete<S: CredentialSql>(
    store: &S,
    key: Credential,
    is_shown: bool,
) -> Result<(), RepositoryError> {
    store
        .transaction(move |connection| {
            Box::pin(async move {
                if !is_shown {
                    return delete_key::<S>(connection, &key.id).await;
                }
                let mut rows = Rows::default();
                rows.state.records_key = true;
                S::write(connection, &rows).await
            })
        })
        .await
}
