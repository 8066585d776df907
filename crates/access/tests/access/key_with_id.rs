//! Keys of external parties.

use access::jwt::SignatureAlgorithm;
use serde_json::{Value, json};

use crate::key_pairs::KeyPair;

/// A key that signs tokens, and the id that its owner has given it.
pub(crate) struct KeyWithId {
    pair: KeyPair,
    id: Option<String>,
}

impl KeyWithId {
    /// A new key with this id.
    pub(crate) fn new(algorithm: SignatureAlgorithm, id: &str) -> Self {
        Self {
            pair: KeyPair::new(algorithm.as_str().parse().expect("a known algorithm")),
            id: Some(id.to_owned()),
        }
    }

    /// The same key without an id.
    pub(crate) fn without_id(self) -> Self {
        Self { id: None, ..self }
    }

    /// The same key, with another signature algorithm of its type.
    pub(crate) fn by(mut self, algorithm: SignatureAlgorithm) -> Self {
        self.pair.algorithm = algorithm.as_str().parse().expect("a known algorithm");
        self
    }

    /// The public half, as its owner publishes it.
    pub(crate) fn public(&self) -> Value {
        let mut jwk = self.pair.public("");
        jwk["use"] = json!("sig");
        jwk["kid"] = json!(self.id);
        without_null(jwk)
    }

    /// A token according to RFC 9068 with these claims.
    pub(crate) fn sign(&self, claims: &Value) -> String {
        self.sign_with_header(&json!({}), claims)
    }

    /// A token whose header has these members in addition to, or in place of, the usual ones.
    /// `null` removes a member.
    pub(crate) fn sign_with_header(&self, members: &Value, claims: &Value) -> String {
        let usual = json!({"alg": self.pair.algorithm, "typ": "at+jwt", "kid": self.id});
        let header = changed(usual, members);
        self.pair
            .sign_text(&header.to_string(), &claims.to_string())
    }
}

/// An object with these members in place of its own. `null` removes a member.
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
