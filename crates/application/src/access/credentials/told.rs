//! What is kept of an answer about a key or client, and what is told of it again.

use domain::{
    Credential, CredentialId, CredentialKind, IdempotencyRecord, Timestamp,
    credential::{Proof, PublicKeys},
};
use ports::{CredentialRepository, RepositoryError};
use serde::{Deserialize, Serialize};

use super::{CredentialError, MintedCredential};
use crate::{Created, idempotency};

/// What is kept of an answer: of which credential it was, and what of it neither the command says
/// nor the store. A secret is not.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Told {
    id: String,
    last_used_at: Option<Timestamp>,
}

impl Told {
    /// What is to be kept of an answer that shows a credential like this.
    pub(super) fn of(id: &CredentialId, last_used_at: Option<Timestamp>) -> Self {
        Self {
            id: id.to_string(),
            last_used_at,
        }
    }
}

/// Answers a command that was carried out before, and that was about these public keys: what was
/// told then. What was about a secret is not told again.
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
    // All else stays as it was made.
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
