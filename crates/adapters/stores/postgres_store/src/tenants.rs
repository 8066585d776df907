//! Tenants.

use async_trait::async_trait;
use domain::{Seq, Tenant, TenantId, Timestamp};
use ports::{RepositoryError, TenantRepository};
use relational::{column::corrupt, read, stored::StoredTenant};
use sqlx::PgConnection;

use crate::{
    PostgresStore,
    error::{conflict_on, in_table},
};

const INSERT: &str = "insert into tenants (id, created_at) values ($1, $2)";
const EXISTS: &str = "select exists (select 1 from tenants where id = $1)";
const LIST: &str = "select id, created_at from tenants order by id";
const LOCK: &str = "select head_seq from tenants where id = $1 for update";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT, EXISTS, LIST, LOCK];

/// Tenants in PostgreSQL.
pub(crate) struct Tenants(pub(crate) PostgresStore);

#[async_trait]
impl TenantRepository for Tenants {
    async fn insert(&self, id: &TenantId, at: Timestamp) -> Result<(), RepositoryError> {
        let insert = sqlx::query(INSERT).bind(id.as_str()).bind(at.date_time());
        let inserted = self.0.execute(insert, conflict_on("tenant")).await;
        inserted.map(drop)
    }

    async fn exists(&self, id: &TenantId) -> Result<bool, RepositoryError> {
        let exists = sqlx::query(EXISTS).bind(id.as_str());
        self.0.connections.fetch_value("tenants", exists).await
    }

    async fn list(&self) -> Result<Vec<Tenant>, RepositoryError> {
        let rows = self.0.connections.fetch_all(sqlx::query(LIST)).await?;
        read::rows("tenants", rows, |row: StoredTenant| row.try_into())
    }
}

/// Locks a tenant until the transaction ends, and returns the head of its log. This is the first
/// step of every transaction that changes data of the tenant.
pub(crate) async fn lock(
    connection: &mut PgConnection,
    tenant: &TenantId,
) -> Result<Seq, RepositoryError> {
    let head: Option<i64> = sqlx::query_scalar(LOCK)
        .bind(tenant.as_str())
        .fetch_optional(connection)
        .await
        .map_err(in_table("tenants"))?;
    head.map(Seq)
        .ok_or_else(|| corrupt("tenants.id")("the tenant does not exist"))
}
