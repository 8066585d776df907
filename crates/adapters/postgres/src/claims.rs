//! Idempotency records.

use async_trait::async_trait;
use domain::{ConversationId, IdempotencyEntry, IdempotencyRecord, TenantId, TurnId};
use ports::{IdempotencyRepository, RepositoryError};
use relational::{column, facts::is_within_retention};
use serde_json::Value;
use sqlx::{PgConnection, PgExecutor};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::{PostgresStore, error::in_table, row};

const FIND: &str = "\
    select fingerprint, turn_id, released_into, answer, created_at from idempotency_records \
    where tenant_id = $1 and principal = $2 and operation = $3 and key = $4";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[FIND];

/// An idempotency record as it is stored.
#[derive(sqlx::FromRow)]
pub(crate) struct IdempotencyRecordRow {
    fingerprint: Vec<u8>,
    turn_id: Option<Uuid>,
    released_into: Option<Uuid>,
    answer: Option<Value>,
    created_at: OffsetDateTime,
}

impl TryFrom<IdempotencyRecordRow> for IdempotencyRecord {
    type Error = RepositoryError;

    fn try_from(row: IdempotencyRecordRow) -> Result<Self, RepositoryError> {
        Ok(Self {
            fingerprint: column::fingerprint(&row.fingerprint)?,
            turn_id: row.turn_id.map(TurnId::new),
            released_into: row.released_into.map(ConversationId::new),
            answer: row.answer,
            created_at: row::time(row.created_at),
        })
    }
}

/// Idempotency records in PostgreSQL.
pub(crate) struct PostgresClaims {
    pub(crate) store: PostgresStore,
}

#[async_trait]
impl IdempotencyRepository for PostgresClaims {
    async fn find(
        &self,
        tenant: &TenantId,
        claim: &IdempotencyEntry,
    ) -> Result<Option<IdempotencyRecord>, RepositoryError> {
        let (tenant, claim) = (tenant.clone(), claim.clone());
        self.store
            .connections
            .run(move |connection| Box::pin(async move { find(connection, &tenant, &claim).await }))
            .await
    }
}

/// Finds the record of an earlier use of the claim's key, if it is within its retention time.
pub(crate) async fn find(
    executor: impl PgExecutor<'_>,
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
    connection: &mut PgConnection,
    tenant: &TenantId,
    claim: Option<&IdempotencyEntry>,
) -> Result<Option<IdempotencyRecord>, RepositoryError> {
    match claim {
        Some(claim) => find(connection, tenant, claim).await,
        None => Ok(None),
    }
}
