//! The columns of a credential's row that store its proof.

use domain::{
    SecretDigest, Timestamp,
    credential::{Proof, PublicKeys, StoredSecret},
};
use ports::RepositoryError;
use serde_json::Value;

use crate::column::corrupt;

/// The columns of a credential that store its proof: the columns of a secret, or one of the two
/// columns for public keys.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProofColumns {
    /// The digest of the current secret.
    pub digest: Option<Vec<u8>>,
    /// The last four characters of the current secret.
    pub last4: Option<String>,
    /// The digest of the previous secret.
    pub previous_digest: Option<Vec<u8>>,
    /// The time until which the previous secret is valid.
    pub previous_until: Option<Timestamp>,
    /// A JWK set.
    pub key_set: Option<Value>,
    /// The address of a JWK set.
    pub key_set_url: Option<String>,
}

impl From<&StoredSecret> for ProofColumns {
    fn from(secret: &StoredSecret) -> Self {
        let previous = secret.previous.as_ref();
        Self {
            digest: Some(secret.digest.bytes().to_vec()),
            last4: Some(secret.last4.clone()),
            previous_digest: previous.map(|(digest, _)| digest.bytes().to_vec()),
            previous_until: previous.map(|(_, until)| *until),
            ..Self::default()
        }
    }
}

impl From<&PublicKeys> for ProofColumns {
    fn from(keys: &PublicKeys) -> Self {
        match keys {
            PublicKeys::Set(set) => Self {
                key_set: Some(set.clone()),
                ..Self::default()
            },
            PublicKeys::At(url) => Self {
                key_set_url: Some(url.clone()),
                ..Self::default()
            },
        }
    }
}

impl From<&Proof> for ProofColumns {
    fn from(proof: &Proof) -> Self {
        match proof {
            Proof::Secret(secret) => secret.into(),
            Proof::Keys(keys) => keys.into(),
        }
    }
}

impl TryFrom<ProofColumns> for Proof {
    type Error = RepositoryError;

    fn try_from(columns: ProofColumns) -> Result<Self, RepositoryError> {
        let previous = match (columns.previous_digest, columns.previous_until) {
            (Some(bytes), Some(until)) => {
                Some((digest("credentials.previous_digest", &bytes)?, until))
            }
            _ => None,
        };
        let secret = columns.digest.zip(columns.last4);
        match (secret, columns.key_set, columns.key_set_url) {
            (Some((bytes, last4)), None, None) => Ok(Self::Secret(StoredSecret {
                digest: digest("credentials.digest", &bytes)?,
                last4,
                previous,
            })),
            (None, Some(set), None) => Ok(Self::Keys(PublicKeys::Set(set))),
            (None, None, Some(url)) => Ok(Self::Keys(PublicKeys::At(url))),
            _ => Err(corrupt("credentials.digest")(
                "expected either one secret or one source of public keys",
            )),
        }
    }
}

fn digest(column: &'static str, bytes: &[u8]) -> Result<SecretDigest, RepositoryError> {
    let bytes = bytes.try_into().map_err(corrupt(column))?;
    Ok(SecretDigest::new(bytes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secret(previous: Option<(SecretDigest, Timestamp)>) -> Proof {
        Proof::Secret(StoredSecret {
            digest: SecretDigest::new([7; 32]),
            last4: "4fZ1".to_owned(),
            previous,
        })
    }

    #[test]
    fn every_proof_survives_the_conversion_to_columns_and_back() {
        let previous = (
            SecretDigest::new([8; 32]),
            Timestamp::from_milliseconds(1_000),
        );
        for proof in [
            secret(None),
            secret(Some(previous)),
            Proof::Keys(PublicKeys::Set(json!({ "keys": [] }))),
            Proof::Keys(PublicKeys::At("https://example.org/jwks".to_owned())),
        ] {
            let read = Proof::try_from(ProofColumns::from(&proof));
            assert_eq!(read.unwrap(), proof);
        }
    }

    #[test]
    fn columns_without_a_proof_or_with_two_are_corrupt() {
        let of_secret = ProofColumns::from(&secret(None));
        for columns in [
            ProofColumns::default(),
            ProofColumns {
                last4: None,
                ..of_secret.clone()
            },
            ProofColumns {
                digest: Some(vec![7; 31]),
                ..of_secret.clone()
            },
            ProofColumns {
                key_set: Some(json!({})),
                ..of_secret
            },
        ] {
            let read = Proof::try_from(columns);
            assert!(matches!(read, Err(RepositoryError::Corrupt { .. })));
        }
    }
}
