//! Generation of secrets, and their stored form.

use domain::{
    CredentialId, CredentialKind, CredentialSecret,
    credential::{Proof, StoredSecret},
    credential_secret::RANDOM_BYTES,
};
use ports::IdSource;

/// Generates an id and its secret from random bytes.
pub(crate) fn generate_secret(ids: &dyn IdSource, kind: CredentialKind) -> CredentialSecret {
    let mut random = [0; RANDOM_BYTES];
    ids.fill_random(&mut random);
    CredentialSecret::mint(kind, &random)
}

/// Generates a new secret for an existing id.
pub(super) fn generate_secret_for(
    ids: &dyn IdSource,
    kind: CredentialKind,
    id: &CredentialId,
) -> CredentialSecret {
    let mut random = [0; 32];
    ids.fill_random(&mut random);
    CredentialSecret::mint_for(kind, id, &random)
}

/// The stored form of a first secret.
pub(crate) fn stored_secret(secret: &CredentialSecret) -> Proof {
    Proof::Secret(StoredSecret {
        digest: secret.digest(),
        last4: secret.last4().to_owned(),
        previous: None,
    })
}
