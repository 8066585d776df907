//! Idempotency records.

use async_trait::async_trait;
use domain::{ConversationId, Fingerprint, IdempotencyClaim, IdempotencyRecord, TenantId, TurnId};
use ports::{ClaimRepository, RepositoryError};
use relational::{ClaimRow, column::corrupt, facts::is_remembered};
use sqlx::{SqliteConnection, SqliteExecutor};
use uuid::Uuid;

use crate::{SqliteStore, error::in_table, row};

const FIND: &str = "\
    select fingerprint, turn_id, released_into, answer, created_at from idempotency_records \
    where tenant_id = ?1 and principal = ?2 and operation = ?3 and key = ?4";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[FIND];

/// What a key was used for, as it is stored.
#[derive(sqlx::FromRow)]
pub(crate) struct RecordRow {
    fingerprint: Vec<u8>,
    turn_id: Option<Uuid>,
    released_into: Option<Uuid>,
    answer: Option<String>,
    created_at: i64,
}

impl TryFrom<RecordRow> for IdempotencyRecord {
    type Error = RepositoryError;

    fn try_from(row: RecordRow) -> Result<Self, RepositoryError> {
        let fingerprint = row.fingerprint.as_slice().try_into();
        let answer = row.answer.as_deref();
        Ok(Self {
            fingerprint: Fingerprint::new(
                fingerprint.map_err(corrupt("idempotency_records.fingerprint"))?,
            ),
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
impl ClaimRepository for SqliteClaims {
    async fn find(
        &self,
        tenant: &TenantId,
        claim: &IdempotencyClaim,
    ) -> Result<Option<IdempotencyRecord>, RepositoryError> {
        find(&self.store.readers, tenant, claim).await
    }
}

/// What the key of a claim was used for, if that is still remembered.
pub(crate) async fn find(
    executor: impl SqliteExecutor<'_>,
    tenant: &TenantId,
    claim: &IdempotencyClaim,
) -> Result<Option<IdempotencyRecord>, RepositoryError> {
    let row: Option<RecordRow> = sqlx::query_as(FIND)
        .bind(tenant.as_str())
        .bind(claim.principal.as_str())
        .bind(claim.operation)
        .bind(claim.key.as_str())
        .fetch_optional(executor)
        .await
        .map_err(in_table("idempotency_records"))?;
    let record = row.map(IdempotencyRecord::try_from).transpose()?;
    Ok(record.filter(|record| is_remembered(record, claim.created_at)))
}

/// What the key of a claim was used for, if there is a claim.
pub(crate) async fn used(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    claim: Option<&IdempotencyClaim>,
) -> Result<Option<IdempotencyRecord>, RepositoryError> {
    match claim {
        Some(claim) => find(connection, tenant, claim).await,
        None => Ok(None),
    }
}

/// The record of a claim that began no turn.
pub(crate) fn row(tenant: &TenantId, claim: Option<&IdempotencyClaim>) -> Option<ClaimRow> {
    claim.map(|claim| ClaimRow {
        tenant: tenant.clone(),
        claim: claim.clone(),
        turn_id: None,
    })
}
