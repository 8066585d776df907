//! The keys of a key set that can verify signatures.

use access::jwt::{
    KeyBounds, SignatureAlgorithm,
    SignatureAlgorithm::{EdDsa, Es256, Es384, Rs256},
    VerifyingKey, VerifyingKeys,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::key_with_id::{self, KeyWithId};

fn is_accepted(jwk: &Value) -> bool {
    VerifyingKey::from_jwk(jwk).is_some()
}

/// The public half of a new key with these members changed. `null` removes a member.
fn changed(algorithm: SignatureAlgorithm, members: &Value) -> Value {
    key_with_id::changed(KeyWithId::new(algorithm, "a").public(), members)
}

/// A modulus of this many bytes without leading zero bits.
fn modulus(bytes: usize) -> String {
    URL_SAFE_NO_PAD.encode(vec![0x81; bytes])
}

#[test]
fn public_keys_for_signatures_are_accepted() {
    for algorithm in SignatureAlgorithm::ALL {
        for members in [
            json!({}),
            json!({"alg": null, "use": null, "kid": null}),
            json!({"use": null, "key_ops": ["verify"]}),
            json!({"x5c": ["MIIB"], "x5t": 7, "extra": {}}),
        ] {
            assert!(
                is_accepted(&changed(*algorithm, &members)),
                "{algorithm} {members}"
            );
        }
    }
}

#[test]
fn a_key_allows_the_algorithms_of_its_type_and_curve() {
    for (algorithm, fitting) in [
        (Es256, vec![Es256]),
        (Es384, vec![Es384]),
        (EdDsa, vec![EdDsa]),
        (Rs256, vec![Rs256, SignatureAlgorithm::Ps256]),
    ] {
        let key = VerifyingKey::from_jwk(&changed(algorithm, &json!({"alg": null}))).unwrap();
        let fits: Vec<_> = SignatureAlgorithm::ALL
            .iter()
            .copied()
            .filter(|algorithm| key.allows(*algorithm))
            .collect();
        assert_eq!(fits, fitting, "{algorithm}");
    }
}

#[test]
fn a_key_may_use_the_newer_name_of_ed25519() {
    let key = VerifyingKey::from_jwk(&changed(EdDsa, &json!({"alg": "Ed25519"}))).unwrap();
    assert!(key.allows(EdDsa));
}

#[test]
fn keys_for_other_purposes_and_of_other_types_are_ignored() {
    for (algorithm, members) in [
        (Es256, json!({"use": "enc"})),
        (Es256, json!({"use": 7})),
        (Es256, json!({"key_ops": ["sign"]})),
        (Es256, json!({"key_ops": "verify"})),
        (Es256, json!({"alg": "ECDH-ES"})),
        (Es256, json!({"alg": "ES384"})),
        (Es256, json!({"alg": "HS256"})),
        (Es256, json!({"alg": 7})),
        (Es256, json!({"kid": 7})),
        (Es256, json!({"kty": null})),
        (Es256, json!({"kty": "ec"})),
        (Es256, json!({"kty": "OKP"})),
        (Es256, json!({"kty": "RSA"})),
        (Es256, json!({"crv": "P-384"})),
        (Es256, json!({"crv": "P-521"})),
        (Es256, json!({"crv": "secp256k1"})),
        (Es256, json!({"crv": null})),
        (Es256, json!({"x": "AAAA"})),
        (Es256, json!({"y": null})),
        (Es256, json!({"x": "not base64!"})),
        (EdDsa, json!({"crv": "Ed448"})),
        (EdDsa, json!({"crv": "X25519"})),
        (EdDsa, json!({"x": "AAAA"})),
        (EdDsa, json!({"kty": "EC"})),
        (Rs256, json!({"n": null})),
        (Rs256, json!({"e": 65_537})),
        (Rs256, json!({"n": "not base64!"})),
        (Rs256, json!({"alg": "RSA-OAEP"})),
        (Rs256, json!({"n": modulus(255)})),
        (Rs256, json!({"n": modulus(1_025)})),
        (Rs256, json!({"d": "AQAB"})),
        (Es256, json!({"kid": "k".repeat(257)})),
        (Rs256, json!({"kty": "oct", "k": "c2VjcmV0"})),
    ] {
        assert!(
            !is_accepted(&changed(algorithm, &members)),
            "{algorithm} {members}"
        );
    }
    for jwk in [json!({}), json!(null), json!([]), json!("key")] {
        assert!(!is_accepted(&jwk), "{jwk}");
    }
}

#[test]
fn keys_of_every_accepted_size_are_read() {
    for bytes in [256, 1_024] {
        let jwk = changed(Rs256, &json!({"n": modulus(bytes)}));
        assert!(is_accepted(&jwk), "{bytes}");
    }
    assert!(is_accepted(&changed(
        Es256,
        &json!({"kid": "k".repeat(256)})
    )));
}

#[test]
fn a_key_set_is_an_object_with_a_list_of_keys() {
    for (set, expected) in [
        (json!({"keys": []}), true),
        (json!({"keys": [null, 7, {}]}), true),
        (json!({"keys": {}}), false),
        (json!({}), false),
        (json!([]), false),
        (json!("keys"), false),
    ] {
        assert_eq!(
            VerifyingKeys::from_jwk_set(&set, KeyBounds::TENANT).is_some(),
            expected,
            "{set}"
        );
    }
}
