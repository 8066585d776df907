//! Idempotency keys: a command that is repeated with the same key takes effect once.

use std::{
    fmt::{self, Write as _},
    str::FromStr,
};

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::{ConversationId, PrincipalId, Timestamp, TurnId};

/// The time for which a key is stored.
pub const RETENTION: std::time::Duration = std::time::Duration::from_hours(24);

/// A client's key: 1 to 255 visible ASCII characters, sent bare or quoted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

/// The error for a text that is not an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an idempotency key is 1 to 255 visible ASCII characters, bare or in double quotes")]
pub struct MalformedIdempotencyKey;

impl IdempotencyKey {
    /// Derives a key from the parts of a command: equal parts have the same key in a namespace, whose
    /// name consists of visible ASCII characters.
    pub fn derived(namespace: &'static str, parts: &[&str]) -> Self {
        let mut key = format!("{namespace}:");
        for byte in Fingerprint::of(&parts).bytes() {
            // Writing to a string cannot fail.
            let _ = write!(key, "{byte:02x}");
        }
        Self(key)
    }

    /// Returns the key without quotes.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IdempotencyKey {
    type Err = MalformedIdempotencyKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bare = match text.strip_prefix('"') {
            Some(rest) => rest.strip_suffix('"').ok_or(MalformedIdempotencyKey)?,
            None => text,
        };
        let visible = bare.bytes().all(|byte| byte.is_ascii_graphic());
        if bare.is_empty() || bare.len() > 255 || !visible || bare.contains('"') {
            return Err(MalformedIdempotencyKey);
        }
        Ok(Self(bare.to_owned()))
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The SHA-256 digest of a parsed command. It decides if a repeated key repeats the command too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Computes the fingerprint of a command. Members that affect only the form of the response
    /// must not be part of it.
    pub fn of(command: &impl Serialize) -> Self {
        // Commands consist of text, numbers and maps with text keys: serializing them cannot fail.
        Self(Sha256::digest(serde_json::to_vec(command).unwrap_or_default()).into())
    }

    /// Wraps the stored bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes to store.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The use of a key by a request, stored in the transaction of its effect.
#[derive(Debug, Clone, PartialEq)]
pub struct IdempotencyEntry {
    /// The principal that the key belongs to.
    pub principal: PrincipalId,
    /// The operation of the request: operations do not share keys.
    pub operation: &'static str,
    /// The client's key.
    pub key: IdempotencyKey,
    /// The fingerprint of the command.
    pub fingerprint: Fingerprint,
    /// The time of creation: the record is kept [`RETENTION`] from then.
    pub created_at: Timestamp,
    /// The result to replay; `None` if the turn contains it or has not ended, or if it contains a secret.
    pub result: Option<serde_json::Value>,
}

/// The stored row of an [`IdempotencyEntry`].
#[derive(Debug, Clone, PartialEq)]
pub struct IdempotencyRecord {
    /// The fingerprint of the command that used the key.
    pub fingerprint: Fingerprint,
    /// For chat: the turn that the command began; `None` once that turn has released the key. If nothing
    /// else of the turn is stored, `result` is its answer, once it has one.
    pub turn_id: Option<TurnId>,
    /// The conversation of that turn, once it has released the key: the next turn continues there.
    pub released_into: Option<ConversationId>,
    /// The turn that has released the key.
    pub released_by: Option<TurnId>,
    /// The result to replay.
    pub result: Option<serde_json::Value>,
    /// The time at which the key was used.
    pub created_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quoted_and_bare_are_the_same_key() {
        assert_eq!("\"a-1\"".parse::<IdempotencyKey>(), "a-1".parse());
        for bad in ["", "\"\"", "\"a", "a b", "a\"b", "ä", &"x".repeat(256)] {
            assert!(bad.parse::<IdempotencyKey>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn different_commands_have_different_fingerprints(a in ".*", b in ".*") {
            prop_assert_eq!(Fingerprint::of(&a) == Fingerprint::of(&b), a == b);
        }
    }
}
