//! A key pair that signs tokens.

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use jsonwebtoken::{
    Algorithm, EncodingKey, Header,
    jwk::{Jwk, ThumbprintHash},
};
use serde::Serialize;
use serde_json::{Value, json};

use super::SigningKeyError;

/// A key pair for ES256.
pub(super) struct KeyPair {
    /// The RFC 7638 thumbprint of the public half.
    pub(super) kid: String,
    /// The public half, as a JWK for publication.
    pub(super) public_key: Value,
    private: EncodingKey,
}

impl KeyPair {
    /// Generates a key pair and returns it with its private half (PKCS #8). The random numbers come
    /// from the cryptographic library, because its generator accepts no other source.
    pub(super) fn generate() -> Result<(Self, Vec<u8>), SigningKeyError> {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new())
            .map_err(|_unspecified| SigningKeyError::Cryptography)?;
        let pkcs8 = pkcs8.as_ref().to_vec();
        let pair = Self::read(&pkcs8).ok_or(SigningKeyError::Cryptography)?;
        Ok((pair, pkcs8))
    }

    /// Reads a key pair from its private half (PKCS #8).
    pub(super) fn read(pkcs8: &[u8]) -> Option<Self> {
        let private = EncodingKey::from_ec_der(pkcs8);
        let public = Jwk::from_encoding_key(&private, Algorithm::ES256).ok()?;
        let kid = public.thumbprint(ThumbprintHash::SHA256).ok()?;
        let mut public_key = serde_json::to_value(&public).ok()?;
        public_key["use"] = json!("sig");
        public_key["kid"] = json!(kid);
        Some(Self {
            kid,
            public_key,
            private,
        })
    }

    /// Returns a signed token with this media type and these claims. Whoever does not understand the
    /// `critical` extension, if there is one, must reject the token.
    pub(super) fn sign(
        &self,
        media_type: &str,
        claims: &impl Serialize,
        critical: Option<&str>,
    ) -> Result<String, SigningKeyError> {
        let mut header = Header {
            typ: Some(media_type.to_owned()),
            kid: Some(self.kid.clone()),
            crit: critical.map(|name| vec![name.to_owned()]),
            ..Header::new(Algorithm::ES256)
        };
        if let Some(name) = critical {
            header.extras.insert(name, true);
        }
        jsonwebtoken::encode(&header, claims, &self.private)
            .map_err(|_unspecified| SigningKeyError::Cryptography)
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::jwt::{SignatureAlgorithm, UnverifiedToken, VerifyingKey};
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

    #[test]
    fn the_published_key_has_a_thumbprint_and_no_private_half() {
        let (pair, _) = KeyPair::generate().unwrap();
        let (x, y) = (&pair.public_key["x"], &pair.public_key["y"]);
        let canonical = format!(r#"{{"crv":"P-256","kty":"EC","x":{x},"y":{y}}}"#);
        let thumbprint = URL_SAFE_NO_PAD.encode(Sha256::digest(canonical));
        assert_eq!(pair.kid, thumbprint);
        let expected = json!({
            "kty": "EC", "crv": "P-256", "x": x, "y": y,
            "use": "sig", "alg": "ES256", "kid": thumbprint,
        });
        assert_eq!(pair.public_key, expected);
    }

    #[test]
    fn only_the_public_half_verifies_a_signature() {
        let (pair, pkcs8) = KeyPair::generate().unwrap();
        let read = KeyPair::read(&pkcs8).unwrap();
        assert_eq!(read.kid, pair.kid);
        let token = read.sign("at+jwt", &json!({"iss": "a"}), None).unwrap();
        let token = UnverifiedToken::parse(&token).unwrap();
        assert_eq!(token.key_id(), Some(&*pair.kid));
        assert!(token.has_media_type("at+jwt"));
        let allowed = &[SignatureAlgorithm::Es256];
        let key = VerifyingKey::from_jwk(&pair.public_key).unwrap();
        assert_eq!(token.verify(&key, allowed).unwrap().text("iss"), Some("a"));
        let (other, _) = KeyPair::generate().unwrap();
        let other = VerifyingKey::from_jwk(&other.public_key).unwrap();
        assert!(token.verify(&other, allowed).is_none());
    }

    #[test]
    fn damaged_bytes_are_rejected() {
        let (_, pkcs8) = KeyPair::generate().unwrap();
        assert!(KeyPair::read(&pkcs8[1..]).is_none());
        assert!(KeyPair::read(b"").is_none());
    }

    #[test]
    fn a_critical_extension_that_is_not_understood_rejects_the_token() {
        let (pair, _) = KeyPair::generate().unwrap();
        let signed = |critical| pair.sign("at+jwt", &json!({"iss": "a"}), critical).unwrap();
        for (critical, is_understood) in [
            (None, true),
            (Some("agent_ids"), true),
            (Some("b64"), false),
        ] {
            let token = signed(critical);
            assert_eq!(UnverifiedToken::parse(&token).is_some(), is_understood);
        }
    }
}
