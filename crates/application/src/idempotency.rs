//! The handling of idempotency keys, common to all use cases that take one.

use domain::{
    Fingerprint, IdempotencyEntry, IdempotencyKey, IdempotencyRecord, Principal, TenantId,
    Timestamp,
};
use ports::{IdempotencyRepository, Idempotent, RepositoryError};
use serde::{Serialize, de::DeserializeOwned};

/// The error of a request whose idempotency key was used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdempotencyConflict {
    /// The key was used by the same command.
    #[error("the idempotency key is in use")]
    InUse,
    /// The key was used by another command.
    #[error("the idempotency key was used with another command")]
    Reused,
}

/// The result of a use case that takes an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created<T> {
    /// The created resource.
    pub value: T,
    /// True if an earlier request with the key created it, and this is the stored result of that
    /// request.
    pub is_replayed: bool,
}

/// The error of a use case that takes an idempotency key.
pub trait IdempotentError: From<IdempotencyConflict> + From<RepositoryError> {
    /// Returns whether the request was rejected before its write. An earlier use of its key then
    /// takes precedence.
    fn is_rejection(&self) -> bool;
}

/// Returns the outcome of a request after its key was checked. The key takes precedence over
/// errors: a request that was rejected before its write may still repeat one that was executed.
/// `Replayed` means that the same command has used the key.
pub async fn check_key<T, E: IdempotentError>(
    records: &dyn IdempotencyRepository,
    tenant: &TenantId,
    entry: Option<&IdempotencyEntry>,
    outcome: Result<Idempotent<T>, E>,
) -> Result<Idempotent<T>, E> {
    let outcome = match (outcome, entry) {
        (Err(error), Some(entry)) if error.is_rejection() => {
            let record = records.find(tenant, entry).await?;
            // A released key does not override the error.
            let record = record.filter(|record| record.released_into.is_none());
            Idempotent::Replayed(record.ok_or(error)?)
        }
        (outcome, _) => outcome?,
    };
    match (outcome, entry) {
        (Idempotent::Replayed(record), Some(entry)) if record.fingerprint != entry.fingerprint => {
            Err(IdempotencyConflict::Reused.into())
        }
        (outcome, _) => Ok(outcome),
    }
}

/// Returns the result of a request whose first result is stored as a whole.
pub(crate) async fn created<T: DeserializeOwned, E: IdempotentError>(
    records: &dyn IdempotencyRepository,
    tenant: &TenantId,
    entry: Option<&IdempotencyEntry>,
    outcome: Result<Idempotent<T>, E>,
) -> Result<Created<T>, E> {
    Ok(match check_key(records, tenant, entry, outcome).await? {
        Idempotent::Applied(value) => Created {
            value,
            is_replayed: false,
        },
        Idempotent::Replayed(record) => Created {
            value: stored_result(record)?,
            is_replayed: true,
        },
    })
}

/// Returns the stored result of the first request.
pub fn stored_result<T: DeserializeOwned>(record: IdempotencyRecord) -> Result<T, RepositoryError> {
    // A missing result becomes null, which is no valid result either.
    serde_json::from_value(record.result.unwrap_or_default()).map_err(|error| {
        RepositoryError::Corrupt {
            what: "idempotency_records.answer".to_owned(),
            source: error.into(),
        }
    })
}

/// Creates the entry of the key, which is stored in the transaction of the write.
pub fn new_entry(
    principal: &Principal,
    operation: &'static str,
    key: Option<IdempotencyKey>,
    command: &impl Serialize,
    now: Timestamp,
) -> Option<IdempotencyEntry> {
    key.map(|key| entry(principal, operation, key, command, now))
}

/// Creates the entry of a key.
pub(crate) fn entry(
    principal: &Principal,
    operation: &'static str,
    key: IdempotencyKey,
    command: &impl Serialize,
    now: Timestamp,
) -> IdempotencyEntry {
    IdempotencyEntry {
        principal: principal.id.clone(),
        operation,
        key,
        fingerprint: Fingerprint::of(command),
        created_at: now,
        result: None,
    }
}

/// Returns the entry with the result to store.
pub fn with_result(
    entry: Option<&IdempotencyEntry>,
    result: &impl Serialize,
) -> Option<IdempotencyEntry> {
    entry.map(|entry| IdempotencyEntry {
        result: serde_json::to_value(result).ok(),
        ..entry.clone()
    })
}
