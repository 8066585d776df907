//! Public keys, as key sets publish them.

use domain::public_key;
use jsonwebtoken::{DecodingKey, crypto};
use serde_json::{Map, Value};

use super::SignatureAlgorithm;

/// A public key that can prove signatures, with what its owner says of its use.
#[derive(Clone)]
pub struct VerifyingKey {
    id: Option<String>,
    /// The algorithms that it may be used with: never of two key types or curves.
    algorithms: Vec<SignatureAlgorithm>,
    key: DecodingKey,
}

impl VerifyingKey {
    /// Takes a key from a key set. Nothing when the table of public keys does not take it: it is
    /// not for signatures, symmetric or private, of an unknown type, curve or size, or malformed.
    pub fn from_jwk(jwk: &Value) -> Option<Self> {
        let jwk = jwk.as_object()?;
        let names = public_key::algorithms(jwk).into_iter();
        let algorithms: Vec<SignatureAlgorithm> =
            names.filter_map(|name| name.parse().ok()).collect();
        if algorithms.is_empty() {
            return None;
        }
        let id = jwk.get("kid").and_then(Value::as_str);
        Some(Self {
            id: id.map(ToOwned::to_owned),
            algorithms,
            key: material(jwk)?,
        })
    }

    /// What tokens call it (`kid`).
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Whether it may be used with an algorithm.
    pub fn fits(&self, algorithm: SignatureAlgorithm) -> bool {
        self.algorithms.contains(&algorithm)
    }

    /// Whether `signature` (base64url) over `message` is this key's.
    pub(super) fn has_signed(
        &self,
        message: &[u8],
        signature: &str,
        algorithm: SignatureAlgorithm,
    ) -> bool {
        self.fits(algorithm)
            && crypto::verify(signature, message, &self.key, algorithm.implementation())
                .is_ok_and(|is_good| is_good)
    }
}

/// The key itself.
fn material(jwk: &Map<String, Value>) -> Option<DecodingKey> {
    let text = |name: &str| jwk.get(name)?.as_str();
    let key = match text("kty")? {
        "RSA" => DecodingKey::from_rsa_components(text("n")?, text("e")?),
        "EC" => DecodingKey::from_ec_components(text("x")?, text("y")?),
        "OKP" => DecodingKey::from_ed_components(text("x")?),
        _ => return None,
    };
    key.ok()
}
