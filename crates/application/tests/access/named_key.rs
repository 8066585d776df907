//! Keys as foreign parties have them.

use application::access::jwt::SignatureAlgorithm;
use serde_json::{Value, json};

use crate::key_pairs::KeyPair;

/// A key that signs tokens, and what its owner calls it.
pub(crate) struct NamedKey {
    pair: KeyPair,
    id: Option<String>,
}

impl NamedKey {
    /// A new key of this name.
    pub(crate) fn new(algorithm: SignatureAlgorithm, id: &str) -> Self {
        Self {
            pair: KeyPair::new(algorithm.as_str().parse().expect("a known algorithm")),
            id: Some(id.to_owned()),
        }
    }

    /// The same without a name.
    pub(crate) fn nameless(self) -> Self {
        Self { id: None, ..self }
    }

    /// The same key, signing by another algorithm of its type.
    pub(crate) fn by(mut self, algorithm: SignatureAlgorithm) -> Self {
        self.pair.algorithm = algorithm.as_str().parse().expect("a known algorithm");
        self
    }

    /// Its public half, as its owner publishes it.
    pub(crate) fn public(&self) -> Value {
        let mut jwk = self.pair.public("");
        jwk["use"] = json!("sig");
        jwk["kid"] = json!(self.id);
        without_null(jwk)
    }

    /// A token of RFC 9068 with these claims.
    pub(crate) fn sign(&self, claims: &Value) -> String {
        self.sign_with_header(&json!({}), claims)
    }

    /// A token with these members in its header beside, or in place of, the usual ones; `null`
    /// takes one away.
    pub(crate) fn sign_with_header(&self, members: &Value, claims: &Value) -> String {
        let usual = json!({"alg": self.pair.algorithm, "typ": "at+jwt", "kid": self.id});
        let header = changed(usual, members);
        self.pair
            .sign_text(&header.to_string(), &claims.to_string())
    }
}

/// An object with these members in place of its own; `null` takes one away.
pub(crate) fn changed(mut object: Value, members: &Value) -> Value {
    for (name, value) in members.as_object().expect("an object") {
        object[name] = value.clone();
    }
    without_null(object)
}

fn without_null(mut object: Value) -> Value {
    object
        .as_object_mut()
        .expect("an object")
        .retain(|_, value| !value.is_null());
    object
}
