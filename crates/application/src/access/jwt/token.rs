//! A token about which nothing is known yet. All reading of what nobody has vouched for is here.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

use super::{
    Claims, SignatureAlgorithm, VerifyingKey,
    strict_json::{optional_text, read_object},
};

/// The `typ` of access tokens (RFC 9068).
pub const ACCESS_TOKEN: &str = "at+jwt";
/// The longest token that is read.
const LONGEST: usize = 16 * 1024;

/// A token of the right form. What it says of itself, issuer and key, serves to find the key that
/// proves it, and for nothing else.
pub struct UnverifiedToken<'text> {
    /// Header and claims as they were signed.
    signed: &'text str,
    signature: &'text str,
    algorithm: SignatureAlgorithm,
    key_id: Option<String>,
    media_type: Option<String>,
    claims: Map<String, Value>,
}

impl<'text> UnverifiedToken<'text> {
    /// Reads a token. Nothing when it is too long, has not the form of a signed token, is signed
    /// by an algorithm that is never accepted, or demands (`crit`) what is not understood. Keys
    /// and addresses of keys in its header (`jwk`, `jku`, `x5c`, `x5u`) are not looked at.
    pub fn read(text: &'text str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let header = part(header)?;
        if header.contains_key("crit") {
            return None;
        }
        Some(Self {
            signed,
            signature,
            algorithm: header.get("alg")?.as_str()?.parse().ok()?,
            key_id: optional_text(&header, "kid").ok()?.map(str::to_owned),
            media_type: optional_text(&header, "typ").ok()?.map(str::to_owned),
            claims: part(claims)?,
        })
    }

    /// Who it says has issued it.
    pub fn issuer(&self) -> Option<&str> {
        self.claims.get("iss")?.as_str()
    }

    /// The algorithm that it says it is signed by.
    pub const fn algorithm(&self) -> SignatureAlgorithm {
        self.algorithm
    }

    /// The key that it says it is signed by (`kid`).
    pub fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref()
    }

    /// Whether it says of which kind it is (`typ`).
    pub const fn has_type(&self) -> bool {
        self.media_type.is_some()
    }

    /// Whether its `typ` is this media type, `application/` left out or not, in any case.
    pub fn is_of_type(&self, media_type: &str) -> bool {
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

    /// Its claims, if its algorithm is among those allowed and `key` has signed it. Neither times
    /// nor audience are looked at.
    pub fn verify(&self, key: &VerifyingKey, allowed: &[SignatureAlgorithm]) -> Option<Claims> {
        let is_good = allowed.contains(&self.algorithm)
            && key.has_signed(self.signed.as_bytes(), self.signature, self.algorithm);
        is_good.then(|| Claims::new(self.claims.clone()))
    }
}

fn part(text: &str) -> Option<Map<String, Value>> {
    read_object(&URL_SAFE_NO_PAD.decode(text).ok()?)
}
