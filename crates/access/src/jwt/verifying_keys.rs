//! The public keys of an issuer or a client.

use domain::public_key_set::MAX_KEYS;
use ports::UrlTrust;
use serde_json::Value;

use super::{Claims, SignatureAlgorithm, UnverifiedToken, VerifyingKey};

/// The bounds of a key set. All keys that are read stay in memory. Each verification with one key
/// costs up to 0.4 ms of a request thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyBounds {
    /// The maximum number of keys that are read from a set.
    pub max_keys: usize,
    /// The maximum number of keys that are tried on a token, if it has no key id or several keys
    /// share the id.
    pub max_tries: usize,
}

impl KeyBounds {
    /// The bounds of a key set that the operator configured.
    pub const OPERATOR: Self = Self {
        max_keys: 100,
        max_tries: 8,
    };
    /// The bounds of a key set of a tenant's client. Any sender can name the client in an
    /// assertion. Two tries suffice for a client that changes its key and sends no key id: the old
    /// key and the new one.
    pub const TENANT: Self = Self {
        max_keys: MAX_KEYS,
        max_tries: 2,
    };
}

impl From<UrlTrust> for KeyBounds {
    fn from(url_trust: UrlTrust) -> Self {
        match url_trust {
            UrlTrust::Operator => Self::OPERATOR,
            UrlTrust::Tenant => Self::TENANT,
        }
    }
}

/// The public keys of an issuer or a client.
#[derive(Clone)]
pub struct VerifyingKeys {
    keys: Vec<VerifyingKey>,
    max_tries: usize,
}

/// The result of checking a token against the keys of its signer.
#[derive(Debug, Clone, PartialEq)]
pub enum SignatureCheck {
    /// A key of the set has signed the token.
    Valid(Claims),
    /// The key with the token's key id did not sign it, or the algorithm is not allowed.
    Invalid,
    /// The set has no key with the token's key id, or the token has no key id and no key matches. A
    /// newer set may contain the key.
    UnknownKey,
}

impl VerifyingKeys {
    /// Reads the first keys of a set (RFC 7517), up to the bound. Keys that cannot verify
    /// signatures are ignored.
    pub fn from_jwk_set(set: &Value, bounds: KeyBounds) -> Option<Self> {
        let keys = set.get("keys")?.as_array()?;
        let first = keys.iter().take(bounds.max_keys);
        Some(Self {
            keys: first.filter_map(VerifyingKey::from_jwk).collect(),
            max_tries: bounds.max_tries,
        })
    }

    /// Checks a token against the keys.
    pub fn check_signature(
        &self,
        token: &UnverifiedToken<'_>,
        allowed: &[SignatureAlgorithm],
    ) -> SignatureCheck {
        if !allowed.contains(&token.algorithm()) {
            return SignatureCheck::Invalid;
        }
        let Some(id) = token.key_id() else {
            let claims = self.first_match(self.keys.iter(), token, allowed);
            return claims.map_or(SignatureCheck::UnknownKey, SignatureCheck::Valid);
        };
        let mut named = self
            .keys
            .iter()
            .filter(|key| key.id() == Some(id))
            .peekable();
        if named.peek().is_none() {
            return SignatureCheck::UnknownKey;
        }
        let claims = self.first_match(named, token, allowed);
        claims.map_or(SignatureCheck::Invalid, SignatureCheck::Valid)
    }

    fn first_match<'keys>(
        &self,
        keys: impl Iterator<Item = &'keys VerifyingKey>,
        token: &UnverifiedToken<'_>,
        allowed: &[SignatureAlgorithm],
    ) -> Option<Claims> {
        keys.filter(|key| key.allows(token.algorithm()))
            .take(self.max_tries)
            .find_map(|key| token.verify(key, allowed))
    }
}
