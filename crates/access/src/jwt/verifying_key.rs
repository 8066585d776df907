//! Public keys from key sets.

use domain::public_key;
use jsonwebtoken::{DecodingKey, crypto};
use serde_json::{Map, Value};

use super::SignatureAlgorithm;

/// A public key that verifies signatures, with the algorithms that its owner allows.
#[derive(Clone)]
pub struct VerifyingKey {
    id: Option<String>,
    /// The algorithms that it may be used with, all of one key type and curve.
    algorithms: Vec<SignatureAlgorithm>,
    key: DecodingKey,
}

impl VerifyingKey {
    /// Reads a key of a key set, in which `null` counts as absent. Returns `None` if the key is not for signatures, is symmetric or
    /// private, is malformed, or has an unknown type, curve or size (`domain::public_key`).
    pub fn from_jwk(jwk: &Value) -> Option<Self> {
        let members = jwk.as_object()?.iter();
        let present = members.filter(|(_, value)| !value.is_null());
        let jwk: Map<String, Value> = present
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let names = public_key::algorithms(&jwk).into_iter();
        let algorithms: Vec<SignatureAlgorithm> =
            names.filter_map(|name| name.parse().ok()).collect();
        if algorithms.is_empty() {
            return None;
        }
        let id = jwk.get("kid").and_then(Value::as_str);
        Some(Self {
            id: id.map(ToOwned::to_owned),
            algorithms,
            key: decoding_key(&jwk)?,
        })
    }

    /// The id in tokens (`kid`).
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns true if the key may be used with this algorithm.
    pub fn allows(&self, algorithm: SignatureAlgorithm) -> bool {
        self.algorithms.contains(&algorithm)
    }

    /// Returns true if the key has made `signature` (base64url) over `message`.
    pub(super) fn verifies(
        &self,
        message: &[u8],
        signature: &str,
        algorithm: SignatureAlgorithm,
    ) -> bool {
        self.allows(algorithm)
            && crypto::verify(signature, message, &self.key, algorithm.library_algorithm())
                .is_ok_and(|is_valid| is_valid)
    }
}

/// Converts the key material for the JWT library.
fn decoding_key(jwk: &Map<String, Value>) -> Option<DecodingKey> {
    let text = |name: &str| jwk.get(name)?.as_str();
    let key = match text("kty")? {
        "RSA" => DecodingKey::from_rsa_components(text("n")?, text("e")?),
        "EC" => DecodingKey::from_ec_components(text("x")?, text("y")?),
        "OKP" => DecodingKey::from_ed_components(text("x")?),
        _ => return None,
    };
    key.ok()
}
