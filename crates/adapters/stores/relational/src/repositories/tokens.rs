//! Revoked tokens, generations of user tokens, and used assertions.

use async_trait::async_trait;
use domain::{SecretDigest, TenantId, Timestamp, erasure::erased_user};
use ports::{RepositoryError, TokenRepository};
use uuid::Uuid;

use super::{Repositories, store_state::raise_access_version};
use crate::{
    Store, parameters,
    read::{self, ReadAs},
    statements,
};

statements! {
    const REVOKE: &str = "\
        insert into revoked_tokens (id, ends_at) values ($1, $2) on conflict do nothing";

    const IS_REVOKED: &str = "select exists (select 1 from revoked_tokens where id = $1)";

    const USER_GENERATION: &str = "\
        select coalesce((select max(generation) from user_token_generations \
            where tenant_id = $1 and user_id in ($2, $3)), 0)";

    const WITHDRAW_USER_TOKENS: &str = "\
        insert into user_token_generations as g (tenant_id, user_id, generation) \
        values ($1, $2, 1 + coalesce((select generation from user_token_generations \
            where tenant_id = $1 and user_id = $3), 0)) \
        on conflict (tenant_id, user_id) do update set generation = g.generation + 1";

    const USE_ASSERTION: &str = "\
        insert into used_assertions (digest, ends_at) values ($1, $2) on conflict do nothing";
}

#[async_trait]
impl<S> TokenRepository for Repositories<S>
where
    S: Store<Row: ReadAs<(bool,)> + ReadAs<(i64,)>>,
{
    async fn revoke(&self, token: Uuid, ends_at: Timestamp) -> Result<(), RepositoryError> {
        let revoke = self.0.transaction(move |connection| {
            Box::pin(async move {
                let parameters = parameters![token, ends_at];
                if S::execute_in(connection, REVOKE, parameters).await? == 1 {
                    raise_access_version::<S>(connection).await?;
                }
                Ok(())
            })
        });
        revoke.await
    }

    async fn is_revoked(&self, token: Uuid) -> Result<bool, RepositoryError> {
        let found = self.0.fetch_optional(IS_REVOKED, parameters![token]).await;
        read::value("revoked_tokens", found?)
    }

    async fn user_generation(
        &self,
        tenant: &TenantId,
        user_id: &str,
    ) -> Result<i64, RepositoryError> {
        let erased = erased_user(tenant, user_id);
        let parameters = parameters![tenant, user_id, erased.as_str()];
        let found = self.0.fetch_optional(USER_GENERATION, parameters).await?;
        read::value("user_token_generations", found)
    }

    async fn withdraw_user_tokens(
        &self,
        tenant: &TenantId,
        user_id: &str,
    ) -> Result<(), RepositoryError> {
        let (tenant, user_id) = (tenant.clone(), user_id.to_owned());
        let withdraw = self.0.transaction(move |connection| {
            Box::pin(async move {
                let erased = erased_user(&tenant, &user_id);
                let parameters = parameters![&tenant, user_id.as_str(), erased.as_str()];
                S::execute_in(connection, WITHDRAW_USER_TOKENS, parameters).await?;
                raise_access_version::<S>(connection).await
            })
        });
        withdraw.await
    }

    async fn use_assertion(
        &self,
        assertion: &SecretDigest,
        ends_at: Timestamp,
    ) -> Result<bool, RepositoryError> {
        let parameters = parameters![assertion.bytes().as_slice(), ends_at];
        Ok(self.0.execute(USE_ASSERTION, parameters).await? == 1)
    }
}
