//! An idempotency record as it is stored.

use domain::{ConversationId, IdempotencyRecord, PrincipalId, TurnId};
use ports::{RepositoryError, write_store::RecordKey};
use serde_json::Value;
use uuid::Uuid;

use crate::column::{self, StoredTime};

/// An idempotency record as it is stored, without its key.
#[derive(sqlx::FromRow)]
pub struct StoredRecord {
    fingerprint: Vec<u8>,
    turn_id: Option<Uuid>,
    released_into: Option<Uuid>,
    released_by: Option<Uuid>,
    answer: Option<Value>,
    created_at: StoredTime,
}

impl TryFrom<StoredRecord> for IdempotencyRecord {
    type Error = RepositoryError;

    fn try_from(row: StoredRecord) -> Result<Self, RepositoryError> {
        Ok(Self {
            fingerprint: column::fingerprint(&row.fingerprint)?,
            turn_id: row.turn_id.map(TurnId::new),
            released_into: row.released_into.map(ConversationId::new),
            released_by: row.released_by.map(TurnId::new),
            result: row.answer,
            created_at: row.created_at.0,
        })
    }
}

/// An idempotency record as it is stored, with its key.
#[derive(sqlx::FromRow)]
pub struct StoredRecordWithKey {
    tenant_id: String,
    principal: String,
    operation: String,
    key: String,
    #[sqlx(flatten)]
    record: StoredRecord,
}

impl TryFrom<StoredRecordWithKey> for (RecordKey, IdempotencyRecord) {
    type Error = RepositoryError;

    fn try_from(row: StoredRecordWithKey) -> Result<Self, RepositoryError> {
        let key = RecordKey {
            tenant: column::parse("tenants.id", &row.tenant_id)?,
            principal: PrincipalId::new(row.principal),
            operation: row.operation,
            key: row.key,
        };
        Ok((key, row.record.try_into()?))
    }
}
