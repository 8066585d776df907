//! Replays of responses to commands with an idempotency key.

use application::{Created, idempotency};
use domain::{
    Credential, CredentialDraft, CredentialId, CredentialKind, IdempotencyRecord, Timestamp,
    credential::{Proof, PublicKeys},
};
use ports::{CredentialRepository, RepositoryError};
use serde::{Deserialize, Serialize};

use super::{CredentialError, IssuedCredential};

/// The stored part of a result: the id of the credential, and what may have changed since. Secrets are
/// never stored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredResult {
    id: String,
    last_used_at: Option<Timestamp>,
    /// Absent in results of versions in which the content of a credential could not change.
    draft: Option<CredentialDraft>,
}

impl StoredResult {
    /// The part to store of a result with this credential.
    pub(super) fn of(credential: &Credential) -> Self {
        Self {
            id: credential.id.to_string(),
            last_used_at: credential.last_used_at,
            draft: Some(credential.draft()),
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
    let StoredResult {
        id,
        last_used_at,
        draft,
    } = idempotency::stored_result(record)?;
    let id: CredentialId = id.parse().map_err(corrupt)?;
    let Some(keys) = keys else {
        return Err(CredentialError::SecretNotReplayable { id });
    };
    let found = credentials.find(kind, &id).await?;
    let credential = found.ok_or(CredentialError::NotFound(kind))?;
    let as_before = draft.and_then(|draft| credential.changed_to(draft));
    // The other fields never change.
    let credential = Credential {
        proof: Proof::Keys(keys),
        last_used_at,
        revoked_at: None,
        ..as_before.unwrap_or(credential)
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
