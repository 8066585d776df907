//! Keys that sign, as foreign issuers have them.

use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der},
    rand::SystemRandom,
    rsa::{self, KeySize},
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
        EcdsaSigningAlgorithm, Ed25519KeyPair,
    },
};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use jsonwebtoken::{EncodingKey, crypto, jwk::Jwk};
use serde_json::{Value, json};

use crate::access::jwt::SignatureAlgorithm;

/// A key that signs tokens, made by the test that uses it.
pub(crate) struct SigningKey {
    algorithm: SignatureAlgorithm,
    id: Option<String>,
    private: EncodingKey,
}

impl SigningKey {
    /// A new key of this name.
    pub(crate) fn new(algorithm: SignatureAlgorithm, id: &str) -> Self {
        Self {
            algorithm,
            id: Some(id.to_owned()),
            private: private_key(algorithm),
        }
    }

    /// The same without a name.
    pub(crate) fn nameless(self) -> Self {
        Self { id: None, ..self }
    }

    /// The same key, signing by another algorithm of its type.
    pub(crate) fn by(self, algorithm: SignatureAlgorithm) -> Self {
        Self { algorithm, ..self }
    }

    /// Its public half, as its owner publishes it.
    pub(crate) fn public(&self) -> Value {
        let jwk = Jwk::from_encoding_key(&self.private, self.algorithm.implementation());
        let mut jwk = serde_json::to_value(jwk.unwrap()).unwrap();
        jwk["use"] = json!("sig");
        if let Some(id) = &self.id {
            jwk["kid"] = json!(id);
        }
        jwk
    }

    /// A token of RFC 9068 with these claims.
    pub(crate) fn sign(&self, claims: &Value) -> String {
        self.sign_with_header(&json!({}), claims)
    }

    /// A token with these members in its header beside, or in place of, the usual ones; `null`
    /// takes one away.
    pub(crate) fn sign_with_header(&self, members: &Value, claims: &Value) -> String {
        let mut header = json!({"alg": self.algorithm.as_str(), "typ": "at+jwt"});
        if let Some(id) = &self.id {
            header["kid"] = json!(id);
        }
        for (name, value) in members.as_object().unwrap() {
            header[name] = value.clone();
        }
        header
            .as_object_mut()
            .unwrap()
            .retain(|_, value| !value.is_null());
        self.sign_text(&header.to_string(), &claims.to_string())
    }

    /// A token of these two texts, whatever they say.
    pub(crate) fn sign_text(&self, header: &str, claims: &str) -> String {
        let signed = format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(header),
            URL_SAFE_NO_PAD.encode(claims)
        );
        let algorithm = self.algorithm.implementation();
        let signature = crypto::sign(signed.as_bytes(), &self.private, algorithm).unwrap();
        format!("{signed}.{signature}")
    }
}

fn private_key(algorithm: SignatureAlgorithm) -> EncodingKey {
    match algorithm {
        SignatureAlgorithm::Es256 => on_curve(&ECDSA_P256_SHA256_FIXED_SIGNING),
        SignatureAlgorithm::Es384 => on_curve(&ECDSA_P384_SHA384_FIXED_SIGNING),
        SignatureAlgorithm::EdDsa => {
            let pkcs8 = Ed25519KeyPair::generate_pkcs8v1(&SystemRandom::new()).unwrap();
            EncodingKey::from_ed_der(pkcs8.as_ref())
        }
        SignatureAlgorithm::Rs256 | SignatureAlgorithm::Ps256 => {
            let pair = rsa::KeyPair::generate(KeySize::Rsa2048).unwrap();
            let pkcs8: Pkcs8V1Der<'_> = pair.as_der().unwrap();
            let text = STANDARD.encode(pkcs8.as_ref());
            let pem = format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n");
            EncodingKey::from_rsa_pem(pem.as_bytes()).unwrap()
        }
    }
}

fn on_curve(algorithm: &'static EcdsaSigningAlgorithm) -> EncodingKey {
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new()).unwrap();
    EncodingKey::from_ec_der(pkcs8.as_ref())
}
