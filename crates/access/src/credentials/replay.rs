//! Replays of responses to commands with an idempotency key.

use application::{Created, idempotency};
use domain::{
    Credential, CredentialId, CredentialKind, IdempotencyRecord, Timestamp,
    credential::{Proof, PublicKeys},
};
use ports::{CredentialRepository, RepositoryError};
use serde::{Deserialize, Serialize};

use super::{CredentialError, IssuedCredential};

/// The stored part of a result: the id of the credential, and the fields that neither the command
/// nor the store can restore. Secrets are never stored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredResult {
    id: String,
    last_used_at: Option<Timestamp>,
}

impl StoredResult {
    /// The part to store of a result with this credential.
    pub(super) fn of(id: &CredentialId, last_used_at: Option<Timestamp>) -> Self {
        Self {
            id: id.to_string(),
            last_used_at,
        }
    }
}

/// Replays the response to a command that was executed before. `keys` are the public keys in the
/// command. A response that contained a secret cannot be replayed and is an error.
pub(super) async fn replay(
    credentials: &dyn CredentialRepository,
    kind: CredentialKind,
    keys: Option<PublicKeys>,
    record: IdempotencyRecord,
) -> Result<Created<IssuedCredential>, CredentialError> {
    let StoredResult { id, last_used_at } = idempotency::stored_result(record)?;
    let id: CredentialId = id.parse().map_err(corrupt)?;
    let Some(keys) = keys else {
        return Err(CredentialError::SecretNotReplayable { id });
    };
    let found = credentials.find(kind, &id).await?;
    let credential = found.ok_or(CredentialError::NotFound(kind))?;
    // The other fields never change.
    let credential = Credential {
        proof: Proof::Keys(keys),
        last_used_at,
        revoked_at: None,
        ..credential
    };
    Ok(Created {
        value: IssuedCredential {
            credential,
            secret: None,
        },
        is_replayed: true,
    })
}

fn corrupt(error: domain::credential::MalformedCredentialId) -> RepositoryError {
    RepositoryError::Corrupt {
        what: "idempotency_records.answer".to_owned(),
        source: error.into(),
    }
}
