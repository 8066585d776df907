use rstest::rstest;
use serde_json::json;

use super::*;

fn rsa(bytes: usize, members: &Value) -> Value {
    let modulus = URL_SAFE_NO_PAD.encode(vec![0x81; bytes]);
    let mut key = json!({"kty": "RSA", "n": modulus, "e": "AQAB"});
    for (name, value) in members.as_object().unwrap() {
        key[name] = value.clone();
    }
    key
}

fn modulus_with_leading_zeros(zeros: usize) -> String {
    URL_SAFE_NO_PAD.encode([vec![0; zeros], vec![0x81; 256]].concat())
}

fn ed25519(members: &Value) -> Value {
    let point = URL_SAFE_NO_PAD.encode([0x81; 32]);
    let mut key = json!({"kty": "OKP", "crv": "Ed25519", "x": point});
    for (name, value) in members.as_object().unwrap() {
        key[name] = value.clone();
    }
    key
}

#[rstest]
#[case(rsa(256, &json!({})), &["RS256", "PS256"])]
#[case(rsa(1_024, &json!({"alg": "PS256"})), &["PS256"])]
#[case(rsa(256, &json!({"kid": "ä".repeat(256)})), &["RS256", "PS256"])]
#[case(ed25519(&json!({})), &["EdDSA", "Ed25519"])]
#[case(ed25519(&json!({"alg": "Ed25519"})), &["Ed25519"])]
#[case(rsa(255, &json!({})), &[])]
#[case(rsa(1_025, &json!({})), &[])]
#[case(rsa(0, &json!({"n": modulus_with_leading_zeros(1)})), &["RS256", "PS256"])]
#[case(rsa(0, &json!({"n": modulus_with_leading_zeros(2)})), &[])]
#[case(rsa(256, &json!({"e": "AAABAAE"})), &[])]
#[case(rsa(256, &json!({"alg": "ES256"})), &[])]
#[case(rsa(256, &json!({"alg": null})), &[])]
#[case(rsa(256, &json!({"kid": "ä".repeat(257)})), &[])]
#[case(rsa(256, &json!({"d": "AQAB"})), &[])]
#[case(ed25519(&json!({"alg": "Ed448"})), &[])]
#[case(json!({}), &[])]
fn a_valid_key_has_the_algorithms_of_its_kind(#[case] key: Value, #[case] expected: &[&str]) {
    assert_eq!(algorithms(key.as_object().unwrap()), expected);
}
