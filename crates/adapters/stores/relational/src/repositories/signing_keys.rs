//! Keys that sign access tokens.

use std::future::Future;

use async_trait::async_trait;
use domain::{SigningKey, Timestamp};
use ports::{RepositoryError, Rows, SigningKeyRepository};

use crate::store::Store;

/// The SQL on signing keys.
pub trait SigningKeySql: Store {
    /// `SigningKeyRepository::list`.
    fn list_signing_keys(
        &self,
    ) -> impl Future<Output = Result<Vec<SigningKey>, RepositoryError>> + Send;

    /// Returns the id of the newest key.
    fn newest_signing_key(
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<Option<String>, RepositoryError>> + Send;

    /// Limits the validity of all keys to `until`.
    fn limit_signing_keys(
        connection: &mut Self::Connection,
        until: Timestamp,
    ) -> impl Future<Output = Result<(), RepositoryError>> + Send;

    /// Inserts a key; fails with `Conflict` if the id exists.
    fn insert_signing_key(
        connection: &mut Self::Connection,
        key: &SigningKey,
    ) -> impl Future<Output = Result<(), RepositoryError>> + Send;
}

/// Signing keys in a store.
pub struct SigningKeys<S>(pub S);

#[async_trait]
impl<S: SigningKeySql> SigningKeyRepository for SigningKeys<S> {
    async fn list(&self) -> Result<Vec<SigningKey>, RepositoryError> {
        self.0.list_signing_keys().await
    }

    async fn add(
        &self,
        key: &SigningKey,
        newest: Option<&str>,
        previous_until: Timestamp,
    ) -> Result<bool, RepositoryError> {
        let (key, newest) = (key.clone(), newest.map(str::to_owned));
        self.0
            .transaction(move |connection| {
                Box::pin(async move {
                    S::lock_state(connection).await?;
                    if S::newest_signing_key(connection).await? != newest {
                        return Ok(false);
                    }
                    S::limit_signing_keys(connection, previous_until).await?;
                    S::insert_signing_key(connection, &key).await?;
                    let mut rows = Rows::default();
                    rows.state.raises_access_version = true;
                    S::write(connection, &rows).await?;
                    Ok(true)
                })
            })
            .await
    }
}
