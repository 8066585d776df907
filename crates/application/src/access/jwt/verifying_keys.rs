//! The public keys of one party.

use domain::public_key_set::MOST_KEYS;
use ports::UrlTrust;
use serde_json::Value;

use super::{Claims, SignatureAlgorithm, UnverifiedToken, VerifyingKey};

/// The bounds of a key set. All keys that are read stay in memory, and each try on a token costs up
/// to 0.4 ms of a request thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyBounds {
    /// Keys of a set that are read.
    pub read: usize,
    /// Keys that are tried on a token that does not name one key.
    pub tried: usize,
}

impl KeyBounds {
    /// A key set that the operator named.
    pub const OPERATOR: Self = Self {
        read: 100,
        tried: 8,
    };
    /// A key set of a tenant's client, in whose name anybody can send assertions: the old key and
    /// the new one are tried of a client that changes its key and names neither.
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

/// What the keys of a party say of a token.
#[derive(Debug, Clone, PartialEq)]
pub enum SignatureCheck {
    /// One of them signed it.
    Proven(Claims),
    /// The one that it names did not sign it, or it is signed in a manner that is not allowed.
    Refused,
    /// None of them is the one that it names, or, when it names none, none signed it. A newer set
    /// of keys may know better.
    UnknownKey,
}

impl VerifyingKeys {
    /// Reads the first keys of a set (RFC 7517). Those that cannot prove signatures are
    /// passed over.
    pub fn read(set: &Value, bounds: KeyBounds) -> Option<Self> {
        let keys = set.get("keys")?.as_array()?;
        let first = keys.iter().take(bounds.read);
        Some(Self {
            keys: first.filter_map(VerifyingKey::from_jwk).collect(),
            tried: bounds.tried,
        })
    }

    /// Looks for the key that signed a token.
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
