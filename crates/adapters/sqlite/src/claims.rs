//! Idempotency records.

use async_trait::async_trait;
use domain::{ConversationId, IdempotencyEntry, IdempotencyRecord, TenantId, TurnId};
use ports::{IdempotencyRepository, RepositoryError};
use relational::{column, facts::is_within_retention};
use sqlx::{SqliteConnection, SqliteExecutor};
use uuid::Uuid;

use crate::{SqliteStore, error::in_table, row};

const FIND: &str = "\
    select fingerprint, turn_id, released_into, answer, created_at from idempotency_records \
    where tenant_id = ?1 and principal = ?2 and operation = ?3 and key = ?4";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[FIND];

/// An idempotency record as it is stored.
#[derive(sqlx::FromRow)]
pub(crate) struct IdempotencyRecordRow {
    fingerprint: Vec<u8>,
    turn_id: Option<Uuid>,
    released_into: Option<Uuid>,
    answer: Option<String>,
    created_at: i64,
}

impl TryFrom<IdempotencyRecordRow> for IdempotencyRecord {
    type Error = RepositoryError;

    fn try_from(row: IdempotencyRecordRow) -> Result<Self, RepositoryError> {
        let answer = row.answer.as_deref();
        Ok(Self {
            fingerprint: column::fingerprint(&row.fingerprint)?,
            turn_id: row.turn_id.map(TurnId::new),
            released_into: row.released_into.map(ConversationId::new),
            answer: answer
                .map(|answer| row::from_json("idempotency_records.answer", answer))
                .transpose()?,
            created_at: row::time(row.created_at),
        })
    }
}

/// Idempotency records in SQLite.
pub(crate) struct SqliteClaims {
    pub(crate) store: SqliteStore,
}

#[async_trait]
impl IdempotencyRepository for SqliteClaims {
    async fn find(
        &self,
        tenant: &TenantId,
        claim: &IdempotencyEntry,
    ) -> Result<Option<IdempotencyRecord>, RepositoryError> {
        find(&self.store.readers, tenant, claim).await
    }
}

/// Finds the record of an earlier use of the claim's key, if it is within its retention time.
pub(crate) async fn find(
    executor: impl SqliteExecutor<'_>,
    tenant: &TenantId,
    claim: &IdempotencyEntry,
) -> Result<Option<IdempotencyRecord>, RepositoryError> {
    let row: Option<IdempotencyRecordRow> = sqlx::query_as(FIND)
        .bind(tenant.as_str())
        .bind(claim.principal.as_str())
        .bind(claim.operation)
        .bind(claim.key.as_str())
        .fetch_optional(executor)
        .await
        .map_err(in_table("idempotency_records"))?;
    let record = row.map(IdempotencyRecord::try_from).transpose()?;
    Ok(record.filter(|record| is_within_retention(record, claim.created_at)))
}

/// Finds the record of an earlier use of the claim's key, if a claim is given.
pub(crate) async fn existing_record(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    claim: Option<&IdempotencyEntry>,
) -> Result<Option<IdempotencyRecord>, RepositoryError> {
    match claim {
        Some(claim) => find(connection, tenant, claim).await,
        None => Ok(None),
    }
}
