//! Revoked tokens, generations of user tokens, and used assertions.

use async_trait::async_trait;
use domain::{SecretDigest, TenantId, Timestamp};
use ports::{RepositoryError, TokenRepository};
use relational::Store as _;
use uuid::Uuid;

use crate::{PostgresStore, error::from_sqlx, store_state};

const REVOKE: &str = "\
    insert into revoked_tokens (id, ends_at) values ($1, $2) on conflict do nothing";
const IS_REVOKED: &str = "select exists (select 1 from revoked_tokens where id = $1)";
const USER_GENERATION: &str = "\
    select coalesce((select generation from user_token_generations \
        where tenant_id = $1 and user_id = $2), 0)";
const WITHDRAW_USER_TOKENS: &str = "\
    insert into user_token_generations as g (tenant_id, user_id, generation) values ($1, $2, 1) \
    on conflict (tenant_id, user_id) do update set generation = g.generation + 1";
const USE_ASSERTION: &str = "\
    insert into used_assertions (digest, ends_at) values ($1, $2) on conflict do nothing";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[
    REVOKE,
    IS_REVOKED,
    USER_GENERATION,
    WITHDRAW_USER_TOKENS,
    USE_ASSERTION,
];

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

    async fn user_generation(
        &self,
        tenant: &TenantId,
        user_id: &str,
    ) -> Result<i64, RepositoryError> {
        let read = sqlx::query(USER_GENERATION)
            .bind(tenant.as_str())
            .bind(user_id);
        let connections = &self.0.connections;
        connections
            .fetch_value("user_token_generations", read)
            .await
    }

    async fn withdraw_user_tokens(
        &self,
        tenant: &TenantId,
        user_id: &str,
    ) -> Result<(), RepositoryError> {
        let (tenant, user_id) = (tenant.as_str().to_owned(), user_id.to_owned());
        let withdraw = sqlx::query(WITHDRAW_USER_TOKENS).bind(tenant).bind(user_id);
        self.0
            .transaction(move |connection| {
                Box::pin(async move {
                    let withdrawn = withdraw.execute(&mut *connection).await;
                    withdrawn.map_err(from_sqlx)?;
                    store_state::raise_access_version(connection).await
                })
            })
            .await
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
