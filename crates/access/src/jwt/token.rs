//! Parsing of unverified tokens. All code that reads unverified content is in this module.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use domain::{FaultCode, json};
use serde_json::{Map, Value};

use super::{Claims, SignatureAlgorithm, VerifyingKey};

/// The `typ` of access tokens (RFC 9068).
pub const ACCESS_TOKEN: &str = "at+jwt";
/// The `typ` of tokens for tool servers, which no service accepts as access tokens.
pub const TOOL_TOKEN: &str = "tool+jwt";
/// The critical extension of tokens that reach only the agents in the claim of the same name. Earlier
/// versions know no critical extension, and reject them.
pub(crate) const AGENT_IDS: &str = "agent_ids";
/// The maximum length of a token, in bytes.
pub(crate) const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// A well-formed token. Its unverified issuer and key id serve only to find the key that verifies
/// it.
pub struct UnverifiedToken<'text> {
    /// The header and the claims, in the signed encoding.
    signed: &'text str,
    signature: &'text str,
    algorithm: SignatureAlgorithm,
    key_id: Option<String>,
    media_type: Option<String>,
    claims: Map<String, Value>,
}

impl<'text> UnverifiedToken<'text> {
    /// Parses a token. Returns `None` if it is too long, is not a signed token, has an algorithm
    /// that is never accepted, or has critical extensions (`crit`) other than `agent_ids`. Keys and addresses
    /// of keys in its header (`jwk`, `jku`, `x5c`, `x5u`) are ignored.
    pub fn parse(text: &'text str) -> Option<Self> {
        if text.len() > MAX_TOKEN_BYTES {
            return None;
        }
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let header = parse_part(header)?;
        if header
            .get("crit")
            .is_some_and(|names| *names != serde_json::json!([AGENT_IDS]))
        {
            return None;
        }
        Some(Self {
            signed,
            signature,
            algorithm: header.get("alg")?.as_str()?.parse().ok()?,
            key_id: optional_text(&header, "kid")?,
            media_type: optional_text(&header, "typ")?,
            claims: parse_part(claims)?,
        })
    }

    /// The issuer in the unverified claims (`iss`).
    pub fn issuer(&self) -> Option<&str> {
        self.claims.get("iss")?.as_str()
    }

    /// The algorithm in the unverified header (`alg`).
    pub const fn algorithm(&self) -> SignatureAlgorithm {
        self.algorithm
    }

    /// The id of the signing key in the unverified header (`kid`).
    pub fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref()
    }

    /// Returns true if the header has a type (`typ`).
    pub const fn has_any_media_type(&self) -> bool {
        self.media_type.is_some()
    }

    /// Returns true if `typ` is this media type, with or without `application/`, in any case.
    pub fn has_media_type(&self, media_type: &str) -> bool {
        let Some(own) = self.media_type.as_deref() else {
            return false;
        };
        let prefix = "application/";
        let own = match own.split_at_checked(prefix.len()) {
            Some((start, rest)) if start.eq_ignore_ascii_case(prefix) => rest,
            _ => own,
        };
        own.eq_ignore_ascii_case(media_type)
    }

    /// Returns the claims if the algorithm is allowed and `key` has signed the token. Times and
    /// audience are not checked.
    pub fn verify(&self, key: &VerifyingKey, allowed: &[SignatureAlgorithm]) -> Option<Claims> {
        let is_signed = allowed.contains(&self.algorithm)
            && key.verifies(self.signed.as_bytes(), self.signature, self.algorithm);
        is_signed.then(|| Claims::new(self.claims.clone()))
    }
}

/// Parses the header or the claims: a JSON object. Parsers differ in the value that they take from
/// duplicate members, so these are rejected.
fn parse_part(text: &str) -> Option<Map<String, Value>> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (value, faults) = json::parse(&bytes).ok()?;
    let is_duplicate = |code| code == FaultCode::DuplicateMember;
    // Further faults are not recorded if they are full.
    if faults.is_full() || faults.codes().any(is_duplicate) {
        return None;
    }
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// Returns a string member, which may be absent or `null`. Returns `None` if it is not a string.
#[expect(clippy::option_option, reason = "absent and malformed differ")]
fn optional_text(object: &Map<String, Value>, name: &str) -> Option<Option<String>> {
    match object.get(name) {
        None | Some(Value::Null) => Some(None),
        Some(Value::String(text)) => Some(Some(text.clone())),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_one_object_without_duplicate_members() {
        let parse = |text: &[u8]| parse_part(&URL_SAFE_NO_PAD.encode(text));
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"a":{"b":1,"b":2}}"#,
            r#"{"a":[{"b":1,"b":2}]}"#,
            r"[]",
            r#""a""#,
            r"{} {}",
            r"{",
            "",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse(b"{\"a\":\"\xff\"}"), None);
        let deep = format!("{}1{}", "{\"a\":".repeat(1_000), "}".repeat(1_000));
        assert_eq!(parse(deep.as_bytes()), None);
        let many_faults = format!("{{\"a\":[{}0]}}", r#""\u0000","#.repeat(200));
        assert_eq!(parse(many_faults.as_bytes()), None);
        assert!(parse(br#"{"a":"\u0000"}"#).is_some());
    }
}
