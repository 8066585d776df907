//! The replacement of a secret or of public keys.

use std::time::Duration;

use domain::{
    CredentialSecret, Fault, FaultCode, Timestamp,
    credential::{MOST_OVERLAP_SECONDS, Proof, PublicKeys},
    credential_draft, public_key_set,
};
use ports::NewProof;
use serde_json::Value;

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
    pub(super) fn check(&self, proof: &Proof) -> Result<(), Vec<Fault>> {
        let mut faults = Vec::new();
        let overlap = self.overlap_seconds;
        match (proof, &self.jwks) {
            (Proof::Keys(PublicKeys::At(_)), _) => {
                let detail = "its keys are rotated where they are published, at its 'jwksUri'";
                return Err(vec![Fault::new("", FaultCode::NotCombinable, detail)]);
            }
            (Proof::Keys(PublicKeys::Set(_)), None) => {
                let detail = "this client signs with keys of its own: send the new ones";
                faults.push(Fault::new("/jwks", FaultCode::Required, detail));
            }
            (Proof::Secret(_), Some(_)) => {
                let detail = "this client has a secret, not keys of its own";
                faults.push(Fault::new("/jwks", FaultCode::NotCombinable, detail));
            }
            (Proof::Keys(PublicKeys::Set(_)), Some(set)) => {
                faults.extend(credential_draft::check_keys(set));
            }
            (Proof::Secret(_), None) => {}
        }
        if matches!(proof, Proof::Keys(_)) && overlap.is_some() {
            let detail = "public keys overlap by standing in the set together";
            let fault = Fault::new("/overlapSeconds", FaultCode::NotCombinable, detail);
            faults.push(fault);
        } else if overlap.is_some_and(|seconds| seconds > MOST_OVERLAP_SECONDS) {
            let detail = format!("at most {MOST_OVERLAP_SECONDS}");
            faults.push(Fault::new("/overlapSeconds", FaultCode::TooLarge, detail));
        }
        if faults.is_empty() {
            return Ok(());
        }
        Err(faults)
    }

    /// The new public keys, in their stored form.
    pub(super) fn public_keys(&self) -> Option<PublicKeys> {
        let set = self.jwks.as_ref().map(public_key_set::understood);
        set.map(PublicKeys::Set)
    }

    /// The write that replaces the current secret with `secret`.
    pub(super) fn to(&self, secret: &CredentialSecret, now: Timestamp) -> NewProof {
        let overlap = self.overlap_seconds.filter(|seconds| *seconds > 0);
        NewProof::Secret {
            digest: secret.digest(),
            last4: secret.last4().to_owned(),
            previous_until: overlap.map(|seconds| now + Duration::from_secs(seconds.into())),
        }
    }
}
