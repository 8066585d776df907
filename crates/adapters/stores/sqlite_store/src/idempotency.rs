//! Idempotency records.

use async_trait::async_trait;
use domain::{IdempotencyEntry, IdempotencyRecord, TenantId};
use ports::{IdempotencyRepository, RepositoryError, write_store::is_within_retention};
use relational::stored::StoredRecord;
use sqlx::SqliteExecutor;

use crate::{SqliteStore, error::in_table};

const FIND: &str = "\
    select fingerprint, turn_id, released_into, released_by, answer, created_at from idempotency_records \
    where tenant_id = ?1 and principal = ?2 and operation = ?3 and key = ?4";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[FIND];

/// Idempotency records in SQLite.
pub(crate) struct IdempotencyRecords(pub(crate) SqliteStore);

#[async_trait]
impl IdempotencyRepository for IdempotencyRecords {
    async fn find(
        &self,
        tenant: &TenantId,
        idempotency: &IdempotencyEntry,
    ) -> Result<Option<IdempotencyRecord>, RepositoryError> {
        let record = find(&self.0.readers, tenant, idempotency).await?;
        Ok(record.filter(|record| is_within_retention(record, idempotency.created_at)))
    }
}

/// Finds the record of the entry's key, however old it is.
pub(crate) async fn find(
    executor: impl SqliteExecutor<'_>,
    tenant: &TenantId,
    idempotency: &IdempotencyEntry,
) -> Result<Option<IdempotencyRecord>, RepositoryError> {
    let row: Option<StoredRecord> = sqlx::query_as(FIND)
        .bind(tenant.as_str())
        .bind(idempotency.principal.as_str())
        .bind(idempotency.operation)
        .bind(idempotency.key.as_str())
        .fetch_optional(executor)
        .await
        .map_err(in_table("idempotency_records"))?;
    row.map(IdempotencyRecord::try_from).transpose()
}
