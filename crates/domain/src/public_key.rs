//! Public keys (RFC 7517): the one table of accepted keys, both for keys that clients register and
//! for keys that issuers publish.

use std::ops::RangeInclusive;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

use crate::{FaultCode, InputFault, fault::push_token};

/// The maximum number of characters of a `kid`.
pub const MAX_KID_CHARACTERS: usize = 256;

/// The accepted sizes of RSA keys. Shorter ones are or will soon be insecure (RFC 7518, 3.3);
/// longer ones make verification too expensive.
const RSA_BITS: RangeInclusive<usize> = 2_048..=8_192;

const RSA_ALGORITHMS: &[&str] = &["RS256", "PS256"];

/// The members of a key that are stored; RFC 7517 requires that others are ignored.
const STORED_MEMBERS: &[&str] = &["kty", "use", "alg", "kid", "crv", "x", "y", "n", "e"];

/// Members of private and symmetric keys (RFC 7518, 6.2.2, 6.3.2 and 6.4).
const PRIVATE_MEMBERS: &[&str] = &["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// A curve whose keys are accepted.
struct Curve {
    key_type: &'static str,
    name: &'static str,
    coordinates: &'static [&'static str],
    /// The number of bytes of a coordinate.
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
        // The second name is the newer one (RFC 9864).
        algorithms: &["EdDSA", "Ed25519"],
    },
];

/// Returns all faults of a key, with pointers relative to it.
pub fn check(key: &Map<String, Value>) -> Vec<InputFault> {
    inspect(key).0
}

/// Returns the registered names of the algorithms that a key can be used with; none if the key has
/// a fault.
pub fn algorithms(key: &Map<String, Value>) -> Vec<&'static str> {
    let (faults, possible) = inspect(key);
    if !faults.is_empty() {
        return Vec::new();
    }
    let only = key.get("alg");
    let is_allowed = |name: &&'static str| only.is_none_or(|only| only == name);
    possible.iter().copied().filter(is_allowed).collect()
}

/// Returns a key without the members that are not stored.
pub(crate) fn without_unknown_members(key: &Value) -> Value {
    let members = STORED_MEMBERS
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), key.get(*name)?.clone())));
    Value::Object(members.collect())
}

/// Returns all faults of a key, and the algorithms of its type and curve.
fn inspect(key: &Map<String, Value>) -> (Vec<InputFault>, &'static [&'static str]) {
    let mut faults: Vec<InputFault> = PRIVATE_MEMBERS
        .iter()
        .filter(|name| key.contains_key(**name))
        .map(|name| {
            let detail = "part of a private key: send only the public key";
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
    // The algorithm of an unknown type of key cannot be checked.
    if !algorithms.is_empty() && key.get("alg").is_some_and(|name| !fits(name)) {
        let detail = format!("one of '{}' for this key", algorithms.join("', '"));
        faults.push(fault("alg", FaultCode::UnknownValue, detail));
    }
    if key.get("key_ops").is_some_and(|uses| !can_verify(uses)) {
        let detail = "must be an array with 'verify' in it";
        faults.push(fault("key_ops", FaultCode::UnknownValue, detail));
    }
    let is_name = |name: &Value| {
        let characters = name.as_str().map(|text| text.chars().count());
        characters.is_some_and(|count| (1..=MAX_KID_CHARACTERS).contains(&count))
    };
    if key.get("kid").is_some_and(|name| !is_name(name)) {
        let detail = format!("must be text of 1 to {MAX_KID_CHARACTERS} characters");
        faults.push(fault("kid", FaultCode::BadFormat, detail));
    }
    (faults, algorithms)
}

fn can_verify(uses: &Value) -> bool {
    let uses = uses.as_array();
    uses.is_some_and(|uses| uses.iter().any(|name| name == "verify"))
}

/// Checks a key on a curve and returns its algorithms.
fn check_curve(
    key: &Map<String, Value>,
    key_type: &str,
    faults: &mut Vec<InputFault>,
) -> &'static [&'static str] {
    let of_type = CURVES.iter().filter(|curve| curve.key_type == key_type);
    let name = key.get("crv").and_then(Value::as_str).unwrap_or_default();
    let Some(curve) = of_type.clone().find(|curve| curve.name == name) else {
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

/// Checks an RSA key and returns its algorithms.
fn check_rsa(key: &Map<String, Value>, faults: &mut Vec<InputFault>) -> &'static [&'static str] {
    if let Some(modulus) = number(key, "n", faults) {
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
    if let Some(exponent) = number(key, "e", faults) {
        let length = bit_length(&exponent);
        let is_odd = exponent.last().is_some_and(|last| last % 2 == 1);
        if !(2..=33).contains(&length) || !is_odd {
            let detail = "must be an odd number from 3 to 2^33 in base64url";
            faults.push(fault("e", FaultCode::BadFormat, detail));
        }
    }
    RSA_ALGORITHMS
}

/// Decodes a required member from base64url without padding.
fn bytes(key: &Map<String, Value>, name: &str, faults: &mut Vec<InputFault>) -> Option<Vec<u8>> {
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

/// Decodes a number. One leading zero byte is common; with more, a number could have any length.
fn number(key: &Map<String, Value>, name: &str, faults: &mut Vec<InputFault>) -> Option<Vec<u8>> {
    let bytes = bytes(key, name, faults)?;
    if bytes.starts_with(&[0, 0]) {
        let detail = "must have no leading zeros";
        faults.push(fault(name, FaultCode::BadFormat, detail));
        return None;
    }
    Some(bytes)
}

/// Returns the number of bits of a big-endian number without leading zeros.
fn bit_length(number: &[u8]) -> usize {
    let first = number.iter().position(|byte| *byte != 0);
    first.map_or(0, |first| {
        (number.len() - first) * 8 - number[first].leading_zeros() as usize
    })
}

fn fault(member: &str, code: FaultCode, detail: impl Into<String>) -> InputFault {
    let mut pointer = String::new();
    push_token(&mut pointer, member);
    InputFault::new(pointer, code, detail)
}

#[cfg(test)]
mod tests;
