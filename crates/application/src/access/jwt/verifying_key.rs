//! Public keys, as key sets publish them.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{DecodingKey, crypto};
use serde_json::{Map, Value};

use super::{SignatureAlgorithm, strict_json::optional_text};

/// A public key that can prove signatures, with what its owner says of its use.
#[derive(Clone)]
pub struct VerifyingKey {
    id: Option<String>,
    /// The algorithms that it may be used with: never of two key types or curves.
    algorithms: Vec<SignatureAlgorithm>,
    key: DecodingKey,
}

impl VerifyingKey {
    /// Takes a key from a key set. Nothing when it is not for signatures, symmetric, of an
    /// unknown type or curve, or malformed.
    pub fn from_jwk(jwk: &Value) -> Option<Self> {
        let jwk = Jwk(jwk.as_object()?);
        if !jwk.is_for_verifying()? {
            return None;
        }
        let (mut algorithms, key) = jwk.material()?;
        if let Some(only) = optional_text(jwk.0, "alg").ok()? {
            algorithms.retain(|algorithm| algorithm.as_str() == only);
        }
        let id = optional_text(jwk.0, "kid").ok()?.map(ToOwned::to_owned);
        (!algorithms.is_empty()).then_some(Self {
            id,
            algorithms,
            key,
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

struct Jwk<'json>(&'json Map<String, Value>);

impl<'json> Jwk<'json> {
    fn text(&self, name: &str) -> Option<&'json str> {
        self.0.get(name)?.as_str()
    }

    fn is_for_verifying(&self) -> Option<bool> {
        let is_for_signatures = optional_text(self.0, "use")
            .ok()?
            .is_none_or(|use_| use_ == "sig");
        let verifies = match self.0.get("key_ops") {
            None => true,
            Some(operations) => operations.as_array()?.contains(&"verify".into()),
        };
        Some(is_for_signatures && verifies)
    }

    /// The key itself, and what its type and curve can be used with.
    fn material(&self) -> Option<(Vec<SignatureAlgorithm>, DecodingKey)> {
        use SignatureAlgorithm::{EdDsa, Es256, Es384, Ps256, Rs256};
        let (algorithms, key) = match (self.text("kty")?, self.text("crv")) {
            ("RSA", _) => {
                let key = DecodingKey::from_rsa_components(self.text("n")?, self.text("e")?);
                (vec![Rs256, Ps256], key)
            }
            ("EC", Some("P-256")) => (vec![Es256], self.point(32)?),
            ("EC", Some("P-384")) => (vec![Es384], self.point(48)?),
            ("OKP", Some("Ed25519")) => (
                vec![EdDsa],
                DecodingKey::from_ed_components(self.bytes("x", 32)?),
            ),
            _ => return None,
        };
        Some((algorithms, key.ok()?))
    }

    fn point(&self, size: usize) -> Option<jsonwebtoken::errors::Result<DecodingKey>> {
        let (x, y) = (self.bytes("x", size)?, self.bytes("y", size)?);
        Some(DecodingKey::from_ec_components(x, y))
    }

    /// Text in base64url of exactly so many bytes.
    fn bytes(&self, name: &str, size: usize) -> Option<&'json str> {
        let text = self.text(name)?;
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        (bytes.len() == size).then_some(text)
    }
}
