//! The public keys of one party.

use domain::public_key_set::MOST_KEYS;
use ports::UrlTrust;
use serde_json::Value;

use super::{Claims, SignatureAlgorithm, UnverifiedToken, VerifyingKey};

/// The bounds of a key set. All keys that are read stay in memory. Each verification with one key
/// costs up to 0.4 ms of a request thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyBounds {
    /// The maximum number of keys that are read from a set.
    pub read: usize,
    /// The maximum number of keys that are tried on a token, if it has no key id or several keys
    /// share the id.
    pub tried: usize,
}

impl KeyBounds {
    /// The bounds of a key set that the operator configured.
    pub const OPERATOR: Self = Self {
        read: 100,
        tried: 8,
    };
    /// The bounds of a key set of a tenant's client. Any sender can name the client in an
    /// assertion. Two tries suffice for a client that changes its key and sends no key id: the old
    /// key and the new one.
    pub const TENANT: Self = Self {
        read: MOST_KEYS,
        tried: 2,
    };
}

impl From<UrlTrust> for KeyBounds {
    fn from(named_by: UrlTrust) -> Self {
        match named_by {
            UrlTrust::Operator => Self::OPERATOR,
            UrlTrust::Tenant => Self::TENANT,
        }
    }
}

/// The public keys of one party.
#[derive(Clone)]
pub struct VerifyingKeys {
    keys: Vec<VerifyingKey>,
    tried: usize,
}

/// The result of checking a token against the keys of a party.
#[derive(Debug, Clone, PartialEq)]
pub enum SignatureCheck {
    /// A key of the set has signed the token.
    Proven(Claims),
    /// The key with the token's key id did not sign it, or the algorithm is not allowed.
    Refused,
    /// The set has no key with the token's key id, or the token has no key id and no key matches. A
    /// newer set may contain the key.
    UnknownKey,
}

impl VerifyingKeys {
    /// Reads the first keys of a set (RFC 7517), up to the bound. Keys that cannot verify
    /// signatures are ignored.
    pub fn read(set: &Value, bounds: KeyBounds) -> Option<Self> {
        let keys = set.get("keys")?.as_array()?;
        let first = keys.iter().take(bounds.read);
        Some(Self {
            keys: first.filter_map(VerifyingKey::from_jwk).collect(),
            tried: bounds.tried,
        })
    }

    /// Checks a token against the keys.
    pub fn prove(
        &self,
        token: &UnverifiedToken<'_>,
        allowed: &[SignatureAlgorithm],
    ) -> SignatureCheck {
        if !allowed.contains(&token.algorithm()) {
            return SignatureCheck::Refused;
        }
        let Some(id) = token.key_id() else {
            let proven = self.first_proof(self.keys.iter(), token, allowed);
            return proven.map_or(SignatureCheck::UnknownKey, SignatureCheck::Proven);
        };
        let mut named = self
            .keys
            .iter()
            .filter(|key| key.id() == Some(id))
            .peekable();
        if named.peek().is_none() {
            return SignatureCheck::UnknownKey;
        }
        let proven = self.first_proof(named, token, allowed);
        proven.map_or(SignatureCheck::Refused, SignatureCheck::Proven)
    }

    fn first_proof<'keys>(
        &self,
        keys: impl Iterator<Item = &'keys VerifyingKey>,
        token: &UnverifiedToken<'_>,
        allowed: &[SignatureAlgorithm],
    ) -> Option<Claims> {
        keys.filter(|key| key.fits(token.algorithm()))
            .take(self.tried)
            .find_map(|key| token.verify(key, allowed))
    }
}
