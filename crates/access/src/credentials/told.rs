//! The stored part of a response about a key or client, and its replay.

use domain::{
    Credential, CredentialId, CredentialKind, IdempotencyRecord, Timestamp,
    credential::{Proof, PublicKeys},
};
use ports::{CredentialRepository, RepositoryError};
use serde::{Deserialize, Serialize};

use super::{CredentialError, MintedCredential};
use application::{Created, idempotency};

/// The stored part of a response: the id of the credential, and the fields that neither the command
/// nor the store can restore. Secrets are never stored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Told {
    id: String,
    last_used_at: Option<Timestamp>,
}

impl Told {
    /// The part to store of a response with this credential.
    pub(super) fn of(id: &CredentialId, last_used_at: Option<Timestamp>) -> Self {
        Self {
            id: id.to_string(),
            last_used_at,
        }
    }
}

/// Replays the response to a command that was executed before. `keys` are the public keys in the
/// command. A response that contained a secret cannot be replayed and is an error.
pub(super) async fn again(
    credentials: &dyn CredentialRepository,
    kind: CredentialKind,
    keys: Option<PublicKeys>,
    record: IdempotencyRecord,
) -> Result<Created<MintedCredential>, CredentialError> {
    let Told { id, last_used_at } = idempotency::kept_answer(record)?;
    let id: CredentialId = id.parse().map_err(corrupt)?;
    let Some(keys) = keys else {
        return Err(CredentialError::UsedFor { id });
    };
    let present = credentials.find(kind, &id).await?;
    let present = present.ok_or(CredentialError::NotFound(kind))?;
    // The other fields never change.
    let credential = Credential {
        proof: Proof::Keys(keys),
        last_used_at,
        revoked_at: None,
        ..present
    };
    Ok(Created {
        value: MintedCredential {
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
