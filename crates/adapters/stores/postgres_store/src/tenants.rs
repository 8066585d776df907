//! Tenants.

use domain::{Seq, TenantId};
use ports::RepositoryError;
use relational::column::corrupt;
use sqlx::PgConnection;

use crate::error::in_table;

const LOCK: &str = "select head_seq from tenants where id = $1 for update";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[LOCK];

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
