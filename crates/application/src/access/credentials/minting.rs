//! New secrets, and what is stored of them.

use domain::{
    CredentialId, CredentialKind, CredentialSecret,
    credential::{Proof, StoredSecret},
    credential_secret::RANDOM_BYTES,
};
use ports::IdSource;

/// A new id with its secret, out of chance alone.
pub(in crate::access) fn minted(ids: &dyn IdSource, kind: CredentialKind) -> CredentialSecret {
    let mut random = [0; RANDOM_BYTES];
    ids.fill_random(&mut random);
    CredentialSecret::mint(kind, &random)
}

/// A new secret for an id that exists.
pub(super) fn minted_for(
    ids: &dyn IdSource,
    kind: CredentialKind,
    id: &CredentialId,
) -> CredentialSecret {
    let mut random = [0; 32];
    ids.fill_random(&mut random);
    CredentialSecret::mint_for(kind, id, &random)
}

/// What is stored of a first secret.
pub(in crate::access) fn with_secret(secret: &CredentialSecret) -> Proof {
    Proof::Secret(StoredSecret {
        digest: secret.digest(),
        last4: secret.last4().to_owned(),
        previous: None,
    })
}
