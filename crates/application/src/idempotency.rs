//! What every creating use case does with an idempotency key.

use domain::{
    Fingerprint, IdempotencyClaim, IdempotencyKey, IdempotencyRecord, Principal, Timestamp,
};
use serde::Serialize;

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

impl IdempotencyRefused {
    /// Tells which of the two a record means for a claim.
    pub fn judge(claim: Option<&IdempotencyClaim>, record: &IdempotencyRecord) -> Self {
        match claim {
            Some(claim) if claim.fingerprint == record.fingerprint => Self::InUse,
            _ => Self::Reused,
        }
    }
}

/// Makes the claim that goes into the write.
pub fn claim(
    principal: &Principal,
    operation: &'static str,
    key: Option<IdempotencyKey>,
    command: &impl Serialize,
    now: Timestamp,
) -> Option<IdempotencyClaim> {
    key.map(|key| IdempotencyClaim {
        principal: principal.id.clone(),
        operation,
        key,
        fingerprint: Fingerprint::of(command),
        created_at: now,
        answer: None,
    })
}
