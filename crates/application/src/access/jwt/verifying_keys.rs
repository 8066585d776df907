//! The public keys of one party.

use serde_json::Value;

use super::{Claims, SignatureAlgorithm, UnverifiedToken, VerifyingKey};

/// Keys that are tried on one token: each try costs about a tenth of a millisecond.
const MOST_TRIES: usize = 8;

/// The public keys of one party.
#[derive(Clone)]
pub struct VerifyingKeys(Vec<VerifyingKey>);

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
    /// Reads the first `most` keys of a set (RFC 7517). Those that cannot prove signatures are
    /// passed over.
    pub fn read(set: &Value, most: usize) -> Option<Self> {
        let keys = set.get("keys")?.as_array()?;
        let first = keys.iter().take(most);
        Some(Self(first.filter_map(VerifyingKey::from_jwk).collect()))
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
            let proven = first_proof(self.0.iter(), token, allowed);
            return proven.map_or(SignatureCheck::UnknownKey, SignatureCheck::Proven);
        };
        let mut named = self.0.iter().filter(|key| key.id() == Some(id)).peekable();
        if named.peek().is_none() {
            return SignatureCheck::UnknownKey;
        }
        first_proof(named, token, allowed).map_or(SignatureCheck::Refused, SignatureCheck::Proven)
    }
}

fn first_proof<'keys>(
    keys: impl Iterator<Item = &'keys VerifyingKey>,
    token: &UnverifiedToken<'_>,
    allowed: &[SignatureAlgorithm],
) -> Option<Claims> {
    keys.filter(|key| key.fits(token.algorithm()))
        .take(MOST_TRIES)
        .find_map(|key| token.verify(key, allowed))
}
