//! Key pairs of external parties, and tokens signed with any key.

use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der},
    rand::SystemRandom,
    rsa::KeySize,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
        Ed25519KeyPair, RsaKeyPair,
    },
};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use jsonwebtoken::{Algorithm, EncodingKey, Header, crypto, jwk::Jwk};
use serde_json::{Value, json};

/// A key pair with which a test signs.
pub(crate) struct KeyPair {
    pub(crate) algorithm: Algorithm,
    private: EncodingKey,
}

impl KeyPair {
    /// A new key pair for an algorithm.
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        let random = SystemRandom::new();
        let private = match algorithm {
            Algorithm::ES256 => ec(EcdsaKeyPair::generate_pkcs8(
                &ECDSA_P256_SHA256_FIXED_SIGNING,
                &random,
            )),
            Algorithm::ES384 => ec(EcdsaKeyPair::generate_pkcs8(
                &ECDSA_P384_SHA384_FIXED_SIGNING,
                &random,
            )),
            Algorithm::EdDSA => {
                let pkcs8 = Ed25519KeyPair::generate_pkcs8v1(&random).expect("a key pair");
                EncodingKey::from_ed_der(pkcs8.as_ref())
            }
            Algorithm::RS256 | Algorithm::PS256 => rsa(),
            other => panic!("no key pair for {other:?}"),
        };
        Self { algorithm, private }
    }

    /// Creates a key pair for ES256 from its private half in PKCS #8.
    pub(crate) fn of_es256(pkcs8: &[u8]) -> Self {
        Self {
            algorithm: Algorithm::ES256,
            private: EncodingKey::from_ec_der(pkcs8),
        }
    }

    /// The public half with this key id.
    pub(crate) fn public(&self, kid: &str) -> Value {
        let jwk = Jwk::from_encoding_key(&self.private, self.algorithm).expect("a public half");
        let mut jwk = serde_json::to_value(jwk).expect("JSON");
        jwk["kid"] = json!(kid);
        jwk
    }

    /// A key set that contains only the public half.
    pub(crate) fn set(&self, kid: &str) -> Value {
        json!({"keys": [self.public(kid)]})
    }

    /// A token with this header and these claims. `alg` is that of the key pair.
    pub(crate) fn sign(&self, kid: &str, media_type: Option<&str>, claims: &Value) -> String {
        let header = Header {
            kid: Some(kid.to_owned()),
            typ: media_type.map(ToOwned::to_owned),
            ..Header::new(self.algorithm)
        };
        self.sign_with(&header, claims)
    }

    /// A token with this header and these claims.
    pub(crate) fn sign_with(&self, header: &Header, claims: &Value) -> String {
        jsonwebtoken::encode(header, claims, &self.private).expect("a signature")
    }

    /// A token of these two texts, valid or not.
    pub(crate) fn sign_text(&self, header: &str, claims: &str) -> String {
        let (header, claims) = (
            URL_SAFE_NO_PAD.encode(header),
            URL_SAFE_NO_PAD.encode(claims),
        );
        let signed = format!("{header}.{claims}");
        let signature = crypto::sign(signed.as_bytes(), &self.private, self.algorithm);
        format!("{signed}.{}", signature.expect("a signature"))
    }
}

fn ec<E: std::fmt::Debug>(pkcs8: Result<aws_lc_rs::pkcs8::Document, E>) -> EncodingKey {
    EncodingKey::from_ec_der(pkcs8.expect("a key pair").as_ref())
}

fn rsa() -> EncodingKey {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).expect("a key pair");
    let pkcs8 = AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).expect("a private half");
    let pem = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        STANDARD.encode(pkcs8.as_ref())
    );
    EncodingKey::from_rsa_pem(pem.as_bytes()).expect("a private half")
}
