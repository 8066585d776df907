//! The validity of older signing keys after a rotation.

use std::time::Duration;

use domain::{SigningKey, Timestamp};

use crate::jwt::LEEWAY;

/// The time for which signatures of a superseded key are still accepted. It is longer than the
/// lifetime of any token, so that a node that learns late of the new key can continue to sign with
/// the old one.
const OVERLAP: Duration = Duration::from_hours(25);

/// The validity of older signing keys after a rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreviousKeys {
    /// Their signatures are accepted until the tokens that they signed have expired.
    Overlap,
    /// Their signatures are rejected from now on. For stolen keys.
    Drop,
}

impl PreviousKeys {
    /// The time until which the older keys are valid if a new key is created now.
    pub(super) fn until(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Overlap => now + OVERLAP,
            // Nodes whose clock is slightly behind must reject the keys too.
            Self::Drop => before(now, LEEWAY),
        }
    }
}

/// The time at which `key` was dropped, if it was. `newer` holds the keys that were created after
/// it; the rotation to one of them dropped it.
pub fn dropped_at(key: &SigningKey, newer: &[SigningKey]) -> Option<Timestamp> {
    let end = key.valid_until?;
    let mut times = newer.iter().map(|newer| newer.created_at);
    times.find(|created_at| PreviousKeys::Drop.until(*created_at) == end)
}

fn before(time: Timestamp, by: Duration) -> Timestamp {
    let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_milliseconds(time.milliseconds().saturating_sub(by))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000;

    fn key(created_at: i64, valid_until: Option<Timestamp>) -> SigningKey {
        SigningKey {
            kid: created_at.to_string(),
            private_key: Vec::new(),
            is_sealed: false,
            public_key: serde_json::Value::Null,
            created_at: Timestamp::from_milliseconds(created_at),
            valid_until,
        }
    }

    #[test]
    fn a_dropped_key_is_distinguished_from_an_expired_one() {
        let at = Timestamp::from_milliseconds;
        let newest = key(DAY + 5_000, None);
        let dropped = PreviousKeys::Drop.until(newest.created_at);
        // It was created five seconds before `newest`, so its end is earlier than its creation.
        let before = key(DAY, Some(dropped));
        assert!(dropped < before.created_at);
        let newer = [newest, before];
        assert_eq!(dropped_at(&newer[1], &newer[..1]), Some(at(DAY + 5_000)));
        let older = key(1, Some(dropped));
        assert_eq!(dropped_at(&older, &newer), Some(at(DAY + 5_000)));
        let superseded = key(1, Some(PreviousKeys::Overlap.until(at(DAY))));
        assert_eq!(dropped_at(&superseded, &newer), None);
        assert_eq!(dropped_at(&newer[0], &[]), None);
    }
}
