//! Sets of public keys (RFC 7517) that clients hand in: which are taken, and what is kept of them.

use std::{collections::HashSet, ops::RangeInclusive};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};

use crate::{
    Fault, FaultCode,
    fault::{push_index, push_token},
};

/// Keys of a set.
pub const MOST_KEYS: usize = 10;
/// Characters of a `kid`.
pub const MOST_KID_CHARACTERS: usize = 256;

/// Shorter RSA keys are broken or soon will be (RFC 7518, 3.3); longer ones cost too much to try.
const RSA_BITS: RangeInclusive<usize> = 2_048..=8_192;

/// What is kept of a key; RFC 7517 has the rest ignored.
const UNDERSTOOD: &[&str] = &["kty", "use", "alg", "kid", "crv", "x", "y", "n", "e"];

/// Members of private and symmetric keys (RFC 7518, 6.2.2, 6.3.2 and 6.4).
const PRIVATE: &[&str] = &["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// A curve on which keys are taken.
struct Curve {
    key_type: &'static str,
    name: &'static str,
    coordinates: &'static [&'static str],
    /// Bytes of a coordinate.
    bytes: usize,
    algorithms: &'static [&'static str],
}

const CURVES: &[Curve] = &[
    Curve {
        key_type: "EC",
        name: "P-256",
        coordinates: &["x", "y"],
        bytes: 32,
        algorithms: &["ES256"],
    },
    Curve {
        key_type: "EC",
        name: "P-384",
        coordinates: &["x", "y"],
        bytes: 48,
        algorithms: &["ES384"],
    },
    Curve {
        key_type: "OKP",
        name: "Ed25519",
        coordinates: &["x"],
        bytes: 32,
        algorithms: &["EdDSA"],
    },
];

/// Everything that is wrong with a key set, by pointers into it.
pub fn check(set: &Value) -> Vec<Fault> {
    let Some(keys) = set["keys"].as_array() else {
        return vec![Fault::new(
            "/keys",
            FaultCode::WrongType,
            "must be an array",
        )];
    };
    if keys.is_empty() {
        return vec![Fault::new("/keys", FaultCode::TooShort, "at least 1 item")];
    }
    if keys.len() > MOST_KEYS {
        let detail = format!("at most {MOST_KEYS} items");
        return vec![Fault::new("/keys", FaultCode::TooMany, detail)];
    }
    let mut names = HashSet::new();
    let mut faults = Vec::new();
    for (index, key) in keys.iter().enumerate() {
        let mut place = String::from("/keys");
        push_index(&mut place, index);
        let Some(key) = key.as_object() else {
            faults.push(Fault::new(place, FaultCode::WrongType, "must be an object"));
            continue;
        };
        let mut found = check_key(key);
        if let Some(name) = key.get("kid").and_then(Value::as_str)
            && !names.insert(name)
        {
            let detail = "another key of the set has this name";
            found.push(fault("kid", FaultCode::DuplicateItem, detail));
        }
        faults.extend(found.into_iter().map(|fault| fault.below(&place)));
    }
    faults
}

/// The set without what is not understood: what is stored and shown.
pub fn understood(set: &Value) -> Value {
    let keys = set["keys"].as_array().into_iter().flatten();
    let reduced = keys.map(|key| {
        let members = UNDERSTOOD
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), key.get(*name)?.clone())));
        Value::Object(members.collect())
    });
    json!({"keys": reduced.collect::<Vec<_>>()})
}

fn check_key(key: &Map<String, Value>) -> Vec<Fault> {
    let mut faults: Vec<Fault> = PRIVATE
        .iter()
        .filter(|name| key.contains_key(**name))
        .map(|name| {
            let detail = "part of a private key: send the public key alone";
            fault(name, FaultCode::UnknownMember, detail)
        })
        .collect();
    let algorithms = match key.get("kty").and_then(Value::as_str) {
        Some("RSA") => check_rsa(key, &mut faults),
        Some(key_type @ ("EC" | "OKP")) => check_curve(key, key_type, &mut faults),
        _ => {
            let detail = "one of 'EC', 'OKP', 'RSA'";
            faults.push(fault("kty", FaultCode::UnknownValue, detail));
            &[]
        }
    };
    if key.get("use").is_some_and(|purpose| purpose != "sig") {
        faults.push(fault("use", FaultCode::UnknownValue, "must be 'sig'"));
    }
    let fits = |name: &Value| algorithms.iter().any(|algorithm| name == algorithm);
    // Of a key that is not known nothing is said about its algorithm.
    if !algorithms.is_empty() && key.get("alg").is_some_and(|name| !fits(name)) {
        let detail = format!("one of '{}' for this key", algorithms.join("', '"));
        faults.push(fault("alg", FaultCode::UnknownValue, detail));
    }
    let is_name = |name: &Value| {
        let characters = name.as_str().map(|text| text.chars().count());
        characters.is_some_and(|count| (1..=MOST_KID_CHARACTERS).contains(&count))
    };
    if key.get("kid").is_some_and(|name| !is_name(name)) {
        let detail = format!("must be text of 1 to {MOST_KID_CHARACTERS} characters");
        faults.push(fault("kid", FaultCode::BadFormat, detail));
    }
    faults
}

/// Checks a key on a curve and answers the algorithms that fit it.
fn check_curve(
    key: &Map<String, Value>,
    key_type: &str,
    faults: &mut Vec<Fault>,
) -> &'static [&'static str] {
    let of_type = CURVES.iter().filter(|curve| curve.key_type == key_type);
    let asked = key.get("crv").and_then(Value::as_str).unwrap_or_default();
    let Some(curve) = of_type.clone().find(|curve| curve.name == asked) else {
        let known: Vec<&str> = of_type.map(|curve| curve.name).collect();
        let detail = format!("one of '{}'", known.join("', '"));
        faults.push(fault("crv", FaultCode::UnknownValue, detail));
        return &[];
    };
    for name in curve.coordinates {
        let is_whole = bytes(key, name, faults).is_none_or(|bytes| bytes.len() == curve.bytes);
        if !is_whole {
            let detail = format!("must be {} bytes in base64url", curve.bytes);
            faults.push(fault(name, FaultCode::BadFormat, detail));
        }
    }
    curve.algorithms
}

/// Checks an RSA key and answers the algorithms that fit it.
fn check_rsa(key: &Map<String, Value>, faults: &mut Vec<Fault>) -> &'static [&'static str] {
    if let Some(modulus) = bytes(key, "n", faults) {
        let length = bit_length(&modulus);
        let (least, most) = (RSA_BITS.start(), RSA_BITS.end());
        if length < *least {
            let detail = format!("at least {least} bits");
            faults.push(fault("n", FaultCode::TooShort, detail));
        } else if length > *most {
            faults.push(fault(
                "n",
                FaultCode::TooLong,
                format!("at most {most} bits"),
            ));
        }
    }
    if let Some(exponent) = bytes(key, "e", faults) {
        let length = bit_length(&exponent);
        let is_odd = exponent.last().is_some_and(|last| last % 2 == 1);
        if !(2..=33).contains(&length) || !is_odd {
            let detail = "must be an odd number from 3 to 2^33 in base64url";
            faults.push(fault("e", FaultCode::BadFormat, detail));
        }
    }
    &["RS256", "PS256"]
}

/// The bytes of a member that must be there, in base64url without padding.
fn bytes(key: &Map<String, Value>, name: &str, faults: &mut Vec<Fault>) -> Option<Vec<u8>> {
    let Some(value) = key.get(name) else {
        faults.push(fault(name, FaultCode::Required, "must be there"));
        return None;
    };
    let decoded = value
        .as_str()
        .and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
    if decoded.is_none() {
        let detail = "must be base64url without padding";
        faults.push(fault(name, FaultCode::BadFormat, detail));
    }
    decoded
}

/// Binary digits of a big-endian number, leading zeros aside.
fn bit_length(number: &[u8]) -> usize {
    let first = number.iter().position(|byte| *byte != 0);
    first.map_or(0, |first| {
        (number.len() - first) * 8 - number[first].leading_zeros() as usize
    })
}

fn fault(member: &str, code: FaultCode, detail: impl Into<String>) -> Fault {
    let mut pointer = String::new();
    push_token(&mut pointer, member);
    Fault::new(pointer, code, detail)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// So many bytes whose first bit is set and whose last is too.
    fn text(bytes: usize) -> String {
        URL_SAFE_NO_PAD.encode(vec![0x81; bytes])
    }

    fn elliptic() -> Value {
        json!({"kty": "EC", "crv": "P-256", "x": text(32), "y": text(32)})
    }

    fn rsa(bytes: usize) -> Value {
        json!({"kty": "RSA", "n": text(bytes), "e": "AQAB"})
    }

    /// A key with other members.
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
    fn takes_each_kind_of_key_that_can_sign_here() {
        let all = [
            with(
                elliptic(),
                json!({"kid": "a", "use": "sig", "alg": "ES256"}),
            ),
            json!({"kty": "EC", "crv": "P-384", "x": text(48), "y": text(48), "alg": "ES384"}),
            json!({"kty": "OKP", "crv": "Ed25519", "x": text(32), "alg": "EdDSA"}),
            with(rsa(256), json!({"alg": "RS256", "key_ops": ["verify"]})),
            with(rsa(1_024), json!({"alg": "PS256"})),
        ];
        assert_eq!(faults(&all), []);
    }

    #[rstest]
    #[case(with(elliptic(), json!({"d": "AQAB"})), "/d", FaultCode::UnknownMember)]
    #[case(with(rsa(256), json!({"p": 7})), "/p", FaultCode::UnknownMember)]
    #[case(json!({"kty": "oct", "alg": "HS256"}), "/kty", FaultCode::UnknownValue)]
    #[case(json!({}), "/kty", FaultCode::UnknownValue)]
    #[case(with(elliptic(), json!({"crv": "secp256k1"})), "/crv", FaultCode::UnknownValue)]
    #[case(with(elliptic(), json!({"crv": "Ed25519"})), "/crv", FaultCode::UnknownValue)]
    #[case(with(elliptic(), json!({"crv": null})), "/crv", FaultCode::UnknownValue)]
    #[case(with(elliptic(), json!({"x": text(31)})), "/x", FaultCode::BadFormat)]
    #[case(with(elliptic(), json!({"y": "no base64!"})), "/y", FaultCode::BadFormat)]
    #[case(json!({"kty": "OKP", "crv": "Ed25519"}), "/x", FaultCode::Required)]
    #[case(rsa(255), "/n", FaultCode::TooShort)]
    #[case(rsa(1_025), "/n", FaultCode::TooLong)]
    #[case(with(rsa(256), json!({"n": 7})), "/n", FaultCode::BadFormat)]
    #[case(with(rsa(256), json!({"e": "AQ"})), "/e", FaultCode::BadFormat)]
    #[case(with(rsa(256), json!({"e": "AQAA"})), "/e", FaultCode::BadFormat)]
    #[case(with(elliptic(), json!({"use": "enc"})), "/use", FaultCode::UnknownValue)]
    #[case(with(elliptic(), json!({"alg": "HS256"})), "/alg", FaultCode::UnknownValue)]
    #[case(with(elliptic(), json!({"alg": "ES384"})), "/alg", FaultCode::UnknownValue)]
    #[case(with(rsa(256), json!({"alg": "none"})), "/alg", FaultCode::UnknownValue)]
    #[case(with(elliptic(), json!({"kid": 1})), "/kid", FaultCode::BadFormat)]
    #[case(with(elliptic(), json!({"kid": ""})), "/kid", FaultCode::BadFormat)]
    fn refuses_any_other_key(#[case] key: Value, #[case] place: &str, #[case] code: FaultCode) {
        let expected = (format!("/keys/1{place}"), code);
        assert_eq!(faults(&[elliptic(), key]), [expected]);
    }

    #[test]
    fn refuses_what_is_no_set_of_one_to_ten_keys_with_names_of_their_own() {
        let named = || with(elliptic(), json!({"kid": "a"}));
        assert_eq!(faults(&[]), [("/keys".to_owned(), FaultCode::TooShort)]);
        let many = vec![elliptic(); 11];
        assert_eq!(faults(&many), [("/keys".to_owned(), FaultCode::TooMany)]);
        let same = ("/keys/1/kid".to_owned(), FaultCode::DuplicateItem);
        assert_eq!(faults(&[named(), named()]), [same]);
        let no_object = ("/keys/0".to_owned(), FaultCode::WrongType);
        assert_eq!(faults(&[json!("key")]), [no_object]);
        assert_eq!(check(&json!({}))[0].code, FaultCode::WrongType);
        assert_eq!(check(&json!([]))[0].code, FaultCode::WrongType);
    }

    #[test]
    fn keeps_what_it_understands_and_nothing_else() {
        let chatty = with(elliptic(), json!({"x5u": "https://a.example", "kid": "a"}));
        let kept = understood(&json!({"keys": [chatty], "more": 1}));
        assert_eq!(
            kept,
            json!({"keys": [with(elliptic(), json!({"kid": "a"}))]})
        );
    }
}
