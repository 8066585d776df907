//! Idempotency keys: the same key and command give the same effect once.

use std::{fmt, str::FromStr};

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::{ConversationId, PrincipalId, Timestamp, TurnId};

/// How long a key is remembered.
pub const RETENTION: std::time::Duration = std::time::Duration::from_hours(24);

/// A client's key: 1 to 255 visible ASCII characters, sent bare or quoted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

/// The text is not an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an idempotency key is 1 to 255 visible ASCII characters, bare or in double quotes")]
pub struct MalformedIdempotencyKey;

impl IdempotencyKey {
    /// The key without quotes.
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

/// SHA-256 of a parsed command: tells whether a repeated key repeats the command too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Of a command; members that only shape the answer must not be in it.
    pub fn of(command: &impl Serialize) -> Self {
        // Commands are made of text, numbers and maps with text keys: serializing cannot fail.
        Self(Sha256::digest(serde_json::to_vec(command).unwrap_or_default()).into())
    }

    /// From the stored bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes as stored.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// A request's claim on a key, written in the transaction of its effect.
#[derive(Debug, Clone, PartialEq)]
pub struct IdempotencyClaim {
    /// Whose key it is.
    pub principal: PrincipalId,
    /// The operation it is for: two operations never share a key.
    pub operation: &'static str,
    /// The client's key.
    pub key: IdempotencyKey,
    /// The command.
    pub fingerprint: Fingerprint,
    /// When it was made: the record is kept [`RETENTION`] from then.
    pub created_at: Timestamp,
    /// The answer to give again; none where the turn holds it, or where it shows a secret.
    pub answer: Option<serde_json::Value>,
}

/// What a store remembers of a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct IdempotencyRecord {
    /// The command that used the key.
    pub fingerprint: Fingerprint,
    /// The turn that it began, for chat; none once that turn has given the key back.
    pub turn_id: Option<TurnId>,
    /// Where that turn took place, once it has given the key back: the next one goes on there.
    pub released_into: Option<ConversationId>,
    /// The answer to give again.
    pub answer: Option<serde_json::Value>,
    /// When the key was used.
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
        fn fingerprints_tell_commands_apart(a in ".*", b in ".*") {
            prop_assert_eq!(Fingerprint::of(&a) == Fingerprint::of(&b), a == b);
        }
    }
}
