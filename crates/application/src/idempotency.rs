//! What every use case that takes an idempotency key does with it.

use domain::{
    Fingerprint, IdempotencyEntry, IdempotencyKey, IdempotencyRecord, Principal, TenantId,
    Timestamp,
};
use ports::{IdempotencyRepository, Idempotent, RepositoryError};
use serde::{Serialize, de::DeserializeOwned};

/// A request whose idempotency key was used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdempotencyRefused {
    /// By the same command.
    #[error("the idempotency key is in use")]
    InUse,
    /// By another command.
    #[error("the idempotency key was used with another command")]
    Reused,
}

/// What a use case that takes an idempotency key answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created<T> {
    /// What was made.
    pub value: T,
    /// Whether it was made when the key was used first, and this is that answer again.
    pub is_replayed: bool,
}

/// Why a use case that takes an idempotency key was refused.
pub(crate) trait Refusal: From<IdempotencyRefused> + From<RepositoryError> {
    /// Whether it says something of the store, and nothing of the request.
    fn is_of_store(&self) -> bool;
}

/// What a request came to, its key judged before everything else: one that was refused on its way
/// to the write may still repeat one that was carried out. `Repeated` is by the same command.
pub(crate) async fn judged<T, E: Refusal>(
    claims: &dyn IdempotencyRepository,
    tenant: &TenantId,
    claim: Option<&IdempotencyEntry>,
    outcome: Result<Idempotent<T>, E>,
) -> Result<Idempotent<T>, E> {
    let outcome = match (outcome, claim) {
        (Err(error), Some(claim)) if !error.is_of_store() => {
            let record = claims.find(tenant, claim).await?;
            // A key that was given back says nothing against the refusal.
            let record = record.filter(|record| record.released_into.is_none());
            Idempotent::Replayed(record.ok_or(error)?)
        }
        (outcome, _) => outcome?,
    };
    match (outcome, claim) {
        (Idempotent::Replayed(record), Some(claim)) if record.fingerprint != claim.fingerprint => {
            Err(IdempotencyRefused::Reused.into())
        }
        (outcome, _) => Ok(outcome),
    }
}

/// What a request is answered whose first answer is kept as a whole.
pub(crate) async fn created<T: DeserializeOwned, E: Refusal>(
    claims: &dyn IdempotencyRepository,
    tenant: &TenantId,
    claim: Option<&IdempotencyEntry>,
    outcome: Result<Idempotent<T>, E>,
) -> Result<Created<T>, E> {
    Ok(match judged(claims, tenant, claim, outcome).await? {
        Idempotent::Applied(value) => Created {
            value,
            is_replayed: false,
        },
        Idempotent::Replayed(record) => Created {
            value: kept_answer(record)?,
            is_replayed: true,
        },
    })
}

/// What was kept of the first answer.
pub(crate) fn kept_answer<T: DeserializeOwned>(
    record: IdempotencyRecord,
) -> Result<T, RepositoryError> {
    // Without an answer it is null, which is none either.
    serde_json::from_value(record.answer.unwrap_or_default()).map_err(|error| {
        RepositoryError::Corrupt {
            what: "idempotency_records.answer".to_owned(),
            source: error.into(),
        }
    })
}

/// Makes the claim that goes into the write.
pub fn claim(
    principal: &Principal,
    operation: &'static str,
    key: Option<IdempotencyKey>,
    command: &impl Serialize,
    now: Timestamp,
) -> Option<IdempotencyEntry> {
    key.map(|key| IdempotencyEntry {
        principal: principal.id.clone(),
        operation,
        key,
        fingerprint: Fingerprint::of(command),
        created_at: now,
        answer: None,
    })
}

/// The claim with what is kept of the answer.
pub(crate) fn answering(
    claim: Option<&IdempotencyEntry>,
    answer: &impl Serialize,
) -> Option<IdempotencyEntry> {
    claim.map(|claim| IdempotencyEntry {
        answer: serde_json::to_value(answer).ok(),
        ..claim.clone()
    })
}
