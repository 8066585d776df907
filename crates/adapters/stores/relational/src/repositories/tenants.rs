//! Tenants.

use async_trait::async_trait;
use domain::{Tenant, TenantId, Timestamp};
use ports::{RepositoryError, TenantRepository};

use super::Repositories;
use crate::{
    Store,
    column::corrupt,
    parameters,
    read::{self, ReadAs},
    statements,
    stored::StoredTenant,
};

statements! {
    const INSERT: &str = "insert into tenants (id, created_at) values ($1, $2)";

    const EXISTS: &str = "select exists (select 1 from tenants where id = $1)";

    const LIST: &str = "select id, created_at from tenants order by id";
}

#[async_trait]
impl<S> TenantRepository for Repositories<S>
where
    S: Store<Row: ReadAs<(bool,)> + ReadAs<StoredTenant>>,
{
    async fn insert(&self, id: &TenantId, at: Timestamp) -> Result<(), RepositoryError> {
        let id = id.clone();
        let insert = self.0.transaction(move |connection| {
            Box::pin(async move {
                S::insert_in(connection, "tenant", INSERT, parameters![&id, at]).await?;
                Ok(())
            })
        });
        insert.await
    }

    async fn exists(&self, id: &TenantId) -> Result<bool, RepositoryError> {
        let found = self.0.fetch_optional(EXISTS, parameters![id]).await?;
        read::value("tenants", found)
    }

    async fn list(&self) -> Result<Vec<Tenant>, RepositoryError> {
        let rows = self.0.fetch_all(LIST, &[]).await?;
        read::rows("tenants", rows, |row: StoredTenant| row.try_into())
    }
}

/// Locks a tenant until the transaction ends. This is the first step of every transaction that changes
/// data of the tenant.
pub(crate) async fn lock<S: Store>(
    connection: &mut S::Connection,
    tenant: &TenantId,
) -> Result<(), RepositoryError> {
    let rows = S::fetch_all_in(connection, S::LOCK_TENANT, parameters![tenant]).await?;
    if rows.is_empty() {
        return Err(corrupt("tenants.id")("the tenant does not exist"));
    }
    Ok(())
}
