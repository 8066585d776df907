//! Sets of public keys (RFC 7517) that clients register: their validation and their stored form.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::{FaultCode, InputFault, fault::push_index, public_key};

/// The maximum number of keys of a set.
pub const MAX_KEYS: usize = 10;

/// Returns all faults of a key set, with pointers relative to it.
pub fn check(set: &Value) -> Vec<InputFault> {
    let Some(keys) = set["keys"].as_array() else {
        return vec![InputFault::new(
            "/keys",
            FaultCode::WrongType,
            "must be an array",
        )];
    };
    if keys.is_empty() {
        return vec![InputFault::new(
            "/keys",
            FaultCode::TooShort,
            "at least 1 item",
        )];
    }
    if keys.len() > MAX_KEYS {
        let detail = format!("at most {MAX_KEYS} items");
        return vec![InputFault::new("/keys", FaultCode::TooMany, detail)];
    }
    let mut names = HashSet::new();
    let mut faults = Vec::new();
    for (index, key) in keys.iter().enumerate() {
        let mut pointer = String::from("/keys");
        push_index(&mut pointer, index);
        let Some(key) = key.as_object() else {
            faults.push(InputFault::new(
                pointer,
                FaultCode::WrongType,
                "must be an object",
            ));
            continue;
        };
        let mut found = public_key::check(key);
        if let Some(name) = key.get("kid").and_then(Value::as_str)
            && !names.insert(name)
        {
            let detail = "another key of the set has the same 'kid'";
            found.push(InputFault::new("/kid", FaultCode::DuplicateItem, detail));
        }
        faults.extend(found.into_iter().map(|fault| fault.below(&pointer)));
    }
    faults
}

/// Returns the set in its stored form, without unknown members.
pub fn understood(set: &Value) -> Value {
    let keys = set["keys"].as_array().into_iter().flatten();
    let reduced = keys.map(public_key::without_unknown_members);
    json!({"keys": reduced.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    use rstest::rstest;

    use super::*;

    /// Encodes a number of `bytes` bytes whose first and last bit are set.
    fn encoded(bytes: usize) -> String {
        URL_SAFE_NO_PAD.encode(vec![0x81; bytes])
    }

    fn p256() -> Value {
        json!({"kty": "EC", "crv": "P-256", "x": encoded(32), "y": encoded(32)})
    }

    fn rsa(bytes: usize) -> Value {
        json!({"kty": "RSA", "n": encoded(bytes), "e": "AQAB"})
    }

    /// Returns the key with additional members.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "reads better where it is called"
    )]
    fn with(mut key: Value, members: Value) -> Value {
        let members = members.as_object().unwrap().clone();
        key.as_object_mut().unwrap().extend(members);
        key
    }

    fn faults(keys: &[Value]) -> Vec<(String, FaultCode)> {
        let found = check(&json!({"keys": keys})).into_iter();
        found.map(|fault| (fault.pointer, fault.code)).collect()
    }

    #[test]
    fn each_supported_kind_of_key_is_accepted() {
        let all = [
            with(p256(), json!({"kid": "a", "use": "sig", "alg": "ES256"})),
            json!({"kty": "EC", "crv": "P-384", "x": encoded(48), "y": encoded(48), "alg": "ES384"}),
            json!({"kty": "OKP", "crv": "Ed25519", "x": encoded(32), "alg": "EdDSA"}),
            json!({"kty": "OKP", "crv": "Ed25519", "x": encoded(32), "alg": "Ed25519"}),
            with(rsa(256), json!({"alg": "RS256", "key_ops": ["verify"]})),
            with(rsa(1_024), json!({"alg": "PS256"})),
        ];
        assert_eq!(faults(&all), []);
    }

    #[rstest]
    #[case(with(p256(), json!({"d": "AQAB"})), "/d", FaultCode::UnknownMember)]
    #[case(with(rsa(256), json!({"p": 7})), "/p", FaultCode::UnknownMember)]
    #[case(json!({"kty": "oct", "alg": "HS256"}), "/kty", FaultCode::UnknownValue)]
    #[case(json!({}), "/kty", FaultCode::UnknownValue)]
    #[case(with(p256(), json!({"crv": "secp256k1"})), "/crv", FaultCode::UnknownValue)]
    #[case(with(p256(), json!({"crv": "Ed25519"})), "/crv", FaultCode::UnknownValue)]
    #[case(with(p256(), json!({"crv": null})), "/crv", FaultCode::UnknownValue)]
    #[case(with(p256(), json!({"x": encoded(31)})), "/x", FaultCode::BadFormat)]
    #[case(with(p256(), json!({"y": "no base64!"})), "/y", FaultCode::BadFormat)]
    #[case(json!({"kty": "OKP", "crv": "Ed25519"}), "/x", FaultCode::Required)]
    #[case(rsa(255), "/n", FaultCode::TooShort)]
    #[case(rsa(1_025), "/n", FaultCode::TooLong)]
    #[case(with(rsa(256), json!({"n": 7})), "/n", FaultCode::BadFormat)]
    #[case(with(rsa(256), json!({"e": "AQ"})), "/e", FaultCode::BadFormat)]
    #[case(with(rsa(256), json!({"e": "AQAA"})), "/e", FaultCode::BadFormat)]
    #[case(with(p256(), json!({"use": "enc"})), "/use", FaultCode::UnknownValue)]
    #[case(with(p256(), json!({"alg": "HS256"})), "/alg", FaultCode::UnknownValue)]
    #[case(with(p256(), json!({"alg": "ES384"})), "/alg", FaultCode::UnknownValue)]
    #[case(with(rsa(256), json!({"alg": "none"})), "/alg", FaultCode::UnknownValue)]
    #[case(with(p256(), json!({"alg": "Ed25519"})), "/alg", FaultCode::UnknownValue)]
    #[case(with(p256(), json!({"key_ops": ["sign"]})), "/key_ops", FaultCode::UnknownValue)]
    #[case(with(p256(), json!({"key_ops": "verify"})), "/key_ops", FaultCode::UnknownValue)]
    #[case(with(p256(), json!({"kid": "ä".repeat(257)})), "/kid", FaultCode::BadFormat)]
    #[case(with(p256(), json!({"kid": 1})), "/kid", FaultCode::BadFormat)]
    #[case(with(p256(), json!({"kid": ""})), "/kid", FaultCode::BadFormat)]
    fn other_keys_are_rejected(#[case] key: Value, #[case] pointer: &str, #[case] code: FaultCode) {
        let expected = (format!("/keys/1{pointer}"), code);
        assert_eq!(faults(&[p256(), key]), [expected]);
    }

    #[test]
    fn a_set_has_one_to_ten_keys_with_unique_kids() {
        let named = || with(p256(), json!({"kid": "a"}));
        assert_eq!(faults(&[]), [("/keys".to_owned(), FaultCode::TooShort)]);
        let many = vec![p256(); 11];
        assert_eq!(faults(&many), [("/keys".to_owned(), FaultCode::TooMany)]);
        let same = ("/keys/1/kid".to_owned(), FaultCode::DuplicateItem);
        assert_eq!(faults(&[named(), named()]), [same]);
        let no_object = ("/keys/0".to_owned(), FaultCode::WrongType);
        assert_eq!(faults(&[json!("key")]), [no_object]);
        assert_eq!(check(&json!({}))[0].code, FaultCode::WrongType);
        assert_eq!(check(&json!([]))[0].code, FaultCode::WrongType);
    }

    #[test]
    fn unknown_members_are_removed() {
        let with_unknown = with(p256(), json!({"x5u": "https://a.example", "kid": "a"}));
        let kept = understood(&json!({"keys": [with_unknown], "more": 1}));
        assert_eq!(kept, json!({"keys": [with(p256(), json!({"kid": "a"}))]}));
    }
}
