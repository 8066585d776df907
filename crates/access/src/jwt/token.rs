//! Parsing of unverified tokens. All code that reads unverified content is in this module.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

use super::{
    Claims, SignatureAlgorithm, VerifyingKey,
    strict_json::{optional_text, read_object},
};

/// The `typ` of access tokens (RFC 9068).
pub const ACCESS_TOKEN: &str = "at+jwt";
/// The maximum length of a token, in bytes.
const MAX_BYTES: usize = 16 * 1024;

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
    /// that is never accepted, or has critical extensions (`crit`). Keys and addresses of keys in
    /// its header (`jwk`, `jku`, `x5c`, `x5u`) are ignored.
    pub fn parse(text: &'text str) -> Option<Self> {
        if text.len() > MAX_BYTES {
            return None;
        }
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let header = parse_part(header)?;
        if header.contains_key("crit") {
            return None;
        }
        Some(Self {
            signed,
            signature,
            algorithm: header.get("alg")?.as_str()?.parse().ok()?,
            key_id: optional_text(&header, "kid").ok()?.map(str::to_owned),
            media_type: optional_text(&header, "typ").ok()?.map(str::to_owned),
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

fn parse_part(text: &str) -> Option<Map<String, Value>> {
    read_object(&URL_SAFE_NO_PAD.decode(text).ok()?)
}
