//! Keys that sign access tokens.

use async_trait::async_trait;
use domain::{SigningKey, Timestamp};
use ports::{RepositoryError, SigningKeyRepository};

use super::{Repositories, store_state::raise_access_version};
use crate::{
    Store, parameters,
    read::{self, ReadAs},
    statements,
    stored::StoredSigningKey,
};

statements! {
    const LIST: &str = "\
        select kid, private_key, is_sealed, public_key, created_at, valid_until from signing_keys \
        order by created_at desc, kid desc";

    const NEWEST: &str = "select kid from signing_keys order by created_at desc, kid desc limit 1";

    const END: &str = "\
        update signing_keys set valid_until = $1 where valid_until is null or valid_until > $1";

    const INSERT: &str = "\
        insert into signing_keys (kid, private_key, is_sealed, public_key, created_at, valid_until) \
        values ($1, $2, $3, $4, $5, $6)";
}

#[async_trait]
impl<S> SigningKeyRepository for Repositories<S>
where
    S: Store<Row: ReadAs<StoredSigningKey> + ReadAs<(String,)>>,
{
    async fn list(&self) -> Result<Vec<SigningKey>, RepositoryError> {
        let rows = self.0.fetch_all(LIST, &[]).await?;
        read::rows("signing_keys", rows, |row: StoredSigningKey| Ok(row.into()))
    }

    async fn add(
        &self,
        key: &SigningKey,
        newest: Option<&str>,
        previous_until: Timestamp,
    ) -> Result<bool, RepositoryError> {
        let (key, expected) = (key.clone(), newest.map(str::to_owned));
        self.0
            .transaction(move |connection| {
                Box::pin(async move {
                    S::lock_state(connection).await?;
                    let newest = S::fetch_all_in(connection, NEWEST, &[]).await?;
                    let newest = newest.into_iter().next();
                    let newest = read::one("signing_keys", newest, |(kid,): (String,)| Ok(kid))?;
                    if newest != expected {
                        return Ok(false);
                    }
                    S::execute_in(connection, END, parameters![previous_until]).await?;
                    insert::<S>(connection, &key).await?;
                    raise_access_version::<S>(connection).await?;
                    Ok(true)
                })
            })
            .await
    }
}

/// Inserts a key; fails with `Conflict` if the id exists.
async fn insert<S: Store>(
    connection: &mut S::Connection,
    key: &SigningKey,
) -> Result<(), RepositoryError> {
    let parameters = parameters![
        key.kid.as_str(),
        key.private_key.as_slice(),
        key.is_sealed,
        &key.public_key,
        key.created_at,
        key.valid_until,
    ];
    let inserted = S::insert_in(connection, "signing key", INSERT, parameters);
    inserted.await.map(drop)
}
