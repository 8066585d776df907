//! Revoked tokens and used assertions.

use async_trait::async_trait;
use domain::{SecretDigest, Timestamp};
use ports::{RepositoryError, TokenRepository};
use relational::Store as _;
use uuid::Uuid;

use crate::{PostgresStore, error::from_sqlx, store_state};

const REVOKE: &str = "\
    insert into revoked_tokens (id, ends_at) values ($1, $2) on conflict do nothing";
const IS_REVOKED: &str = "select exists (select 1 from revoked_tokens where id = $1)";
const USE_ASSERTION: &str = "\
    insert into used_assertions (digest, ends_at) values ($1, $2) on conflict do nothing";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[REVOKE, IS_REVOKED, USE_ASSERTION];

/// Revoked tokens and used assertions in PostgreSQL.
pub(crate) struct Tokens(pub(crate) PostgresStore);

#[async_trait]
impl TokenRepository for Tokens {
    async fn revoke(&self, token: Uuid, ends_at: Timestamp) -> Result<(), RepositoryError> {
        let revoke = sqlx::query(REVOKE).bind(token).bind(ends_at.date_time());
        self.0
            .transaction(move |connection| {
                Box::pin(async move {
                    let revoked = revoke.execute(&mut *connection).await.map_err(from_sqlx)?;
                    if revoked.rows_affected() == 1 {
                        store_state::raise_access_version(connection).await?;
                    }
                    Ok(())
                })
            })
            .await
    }

    async fn is_revoked(&self, token: Uuid) -> Result<bool, RepositoryError> {
        let read = sqlx::query(IS_REVOKED).bind(token);
        self.0.connections.fetch_value("revoked_tokens", read).await
    }

    async fn use_assertion(
        &self,
        assertion: &SecretDigest,
        ends_at: Timestamp,
    ) -> Result<bool, RepositoryError> {
        let insert = sqlx::query(USE_ASSERTION)
            .bind(assertion.bytes().as_slice())
            .bind(ends_at.date_time());
        Ok(self.0.execute(insert, from_sqlx).await? == 1)
    }
}
