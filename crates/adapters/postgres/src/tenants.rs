//! Tenants.

use async_trait::async_trait;
use domain::{Seq, Tenant, TenantId, Timestamp};
use ports::{RepositoryError, TenantRepository};
use relational::column::{self, corrupt};
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::{
    PostgresStore,
    error::{conflict_on, in_table},
    row,
};

const INSERT: &str = "insert into tenants (id, created_at) values ($1, $2)";
const EXISTS: &str = "select exists (select 1 from tenants where id = $1)";
const LIST: &str = "select id, created_at from tenants order by id";
const LOCK: &str = "select head_seq from tenants where id = $1 for update";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT, EXISTS, LIST, LOCK];

#[derive(sqlx::FromRow)]
struct TenantRow {
    id: String,
    created_at: OffsetDateTime,
}

impl TryFrom<TenantRow> for Tenant {
    type Error = RepositoryError;

    fn try_from(row: TenantRow) -> Result<Self, RepositoryError> {
        Ok(Self {
            id: column::parse("tenants.id", &row.id)?,
            created_at: row::time(row.created_at),
        })
    }
}

/// Tenants in PostgreSQL.
pub(crate) struct PostgresTenants {
    pub(crate) store: PostgresStore,
}

#[async_trait]
impl TenantRepository for PostgresTenants {
    async fn insert(&self, id: &TenantId, at: Timestamp) -> Result<(), RepositoryError> {
        let id = id.clone();
        self.store
            .connections
            .transaction(move |connection| {
                Box::pin(async move {
                    sqlx::query(INSERT)
                        .bind(id.as_str())
                        .bind(at.date_time())
                        .execute(connection)
                        .await
                        .map_err(conflict_on("tenant"))?;
                    Ok(())
                })
            })
            .await
    }

    async fn exists(&self, id: &TenantId) -> Result<bool, RepositoryError> {
        let read = sqlx::query(EXISTS).bind(id.as_str());
        self.store.connections.fetch_value("tenants", read).await
    }

    async fn list(&self) -> Result<Vec<Tenant>, RepositoryError> {
        let rows = self.store.connections.fetch_all(sqlx::query(LIST)).await?;
        rows.iter()
            .map(|row| row::read::<TenantRow>("tenants", row)?.try_into())
            .collect()
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
