//! The replacement of a secret or of public keys.

use std::time::Duration;

use application::{Created, idempotency};
use domain::{
    Credential, CredentialId, CredentialKind, CredentialSecret, FaultCode, IdempotencyEntry,
    IdempotencyKey, InputFault, Principal, Timestamp,
    credential::{MAX_OVERLAP_SECONDS, Proof, PublicKeys},
    credential_draft, public_key_set,
};
use ports::{Idempotent, NewProof};
use serde_json::Value;

use super::{
    CredentialError, CredentialService, IssuedCredential, privilege, replay::StoredResult,
    secrets::generate_secret_for,
};

/// The parameters of a rotation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rotation {
    /// The number of seconds for which the previous secret stays valid. If absent, it is invalid at
    /// once.
    pub overlap_seconds: Option<u32>,
    /// The new public keys of a client whose keys are stored here.
    pub jwks: Option<Value>,
}

impl Rotation {
    /// Checks the rotation against the current proof and returns all faults.
    fn check(&self, proof: &Proof) -> Result<(), Vec<InputFault>> {
        let mut faults = Vec::new();
        let overlap = self.overlap_seconds;
        match (proof, &self.jwks) {
            (Proof::Keys(PublicKeys::At(_)), _) => {
                let detail = "its keys are rotated where they are published, at its 'jwksUri'";
                return Err(vec![InputFault::new("", FaultCode::NotCombinable, detail)]);
            }
            (Proof::Keys(PublicKeys::Set(_)), None) => {
                let detail = "this client authenticates with public keys: send the new key set";
                faults.push(InputFault::new("/jwks", FaultCode::Required, detail));
            }
            (Proof::Secret(_), Some(_)) => {
                let detail = "this client authenticates with a secret, not with public keys";
                faults.push(InputFault::new("/jwks", FaultCode::NotCombinable, detail));
            }
            (Proof::Keys(PublicKeys::Set(_)), Some(set)) => {
                faults.extend(credential_draft::check_keys(set));
            }
            (Proof::Secret(_), None) => {}
        }
        if matches!(proof, Proof::Keys(_)) && overlap.is_some() {
            let detail = "for an overlap of public keys, send a set with the old and the new keys";
            let fault = InputFault::new("/overlapSeconds", FaultCode::NotCombinable, detail);
            faults.push(fault);
        } else if overlap.is_some_and(|seconds| seconds > MAX_OVERLAP_SECONDS) {
            let detail = format!("at most {MAX_OVERLAP_SECONDS}");
            faults.push(InputFault::new(
                "/overlapSeconds",
                FaultCode::TooLarge,
                detail,
            ));
        }
        if faults.is_empty() {
            return Ok(());
        }
        Err(faults)
    }

    /// The new public keys, in their stored form.
    fn public_keys(&self) -> Option<PublicKeys> {
        let set = self.jwks.as_ref().map(public_key_set::understood);
        set.map(PublicKeys::Set)
    }

    /// The write that replaces the current secret with `secret`.
    fn new_secret(&self, secret: &CredentialSecret, now: Timestamp) -> NewProof {
        let overlap = self.overlap_seconds.filter(|seconds| *seconds > 0);
        NewProof::Secret {
            digest: secret.digest(),
            last4: secret.last4().to_owned(),
            previous_until: overlap.map(|seconds| now + Duration::from_secs(seconds.into())),
        }
    }
}

impl CredentialService {
    /// Replaces the secret of a key or client, or the public keys of a client.
    pub async fn rotate(
        &self,
        caller: &Principal,
        kind: CredentialKind,
        id: &CredentialId,
        rotation: Rotation,
        key: Option<IdempotencyKey>,
    ) -> Result<Created<IssuedCredential>, CredentialError> {
        let now = self.clock.now();
        let command = (id, rotation.overlap_seconds.unwrap_or(0), &rotation.jwks);
        let entry = idempotency::new_entry(caller, rotate_operation(kind), key, &command, now);
        let replaced = self.replace(caller, kind, id, &rotation, entry.as_ref());
        let outcome = replaced.await;
        let keys = rotation.public_keys();
        self.complete(caller, kind, keys, entry.as_ref(), outcome)
            .await
    }

    async fn replace(
        &self,
        caller: &Principal,
        kind: CredentialKind,
        id: &CredentialId,
        rotation: &Rotation,
        entry: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<IssuedCredential>, CredentialError> {
        let before = self.get(caller, kind, id).await?;
        privilege::check(caller, &before.scopes)?;
        let now = self.clock.now();
        if !before.is_alive(now) {
            return Err(CredentialError::RevokedOrExpired(kind));
        }
        rotation
            .check(&before.proof)
            .map_err(CredentialError::Invalid)?;
        let (proof, secret) = if let Some(keys) = rotation.public_keys() {
            (NewProof::Keys(keys), None)
        } else {
            let secret = generate_secret_for(&*self.ids, kind, id);
            (rotation.new_secret(&secret, now), Some(secret))
        };
        let entry = idempotency::with_result(entry, &StoredResult::of(&before));
        let rotated = self
            .credentials
            .rotate(kind, &caller.tenant, id, &proof, entry.as_ref())
            .await?;
        Ok(match rotated {
            Idempotent::Applied(rotated) => {
                // It existed a moment ago, so it was revoked meanwhile.
                let rotated = rotated.ok_or(CredentialError::RevokedOrExpired(kind))?;
                self.refresh_authenticator().await;
                // The same values as in the idempotency record, for equal replays.
                let as_before = rotated.changed_to(before.draft()).unwrap_or(rotated);
                let credential = Credential {
                    last_used_at: before.last_used_at,
                    ..as_before
                };
                Idempotent::Applied(IssuedCredential { credential, secret })
            }
            Idempotent::Replayed(record) => Idempotent::Replayed(record),
        })
    }
}

const fn rotate_operation(kind: CredentialKind) -> &'static str {
    match kind {
        CredentialKind::Key => "keys.rotate",
        CredentialKind::Client => "clients.rotate",
    }
}
