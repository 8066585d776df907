//! Messages that a client sends again.

use domain::{Fingerprint, IdempotencyKey};

/// Returns the idempotency key of a message that a client has given an id of its own: a message that
/// is sent again has the same key.
pub fn resend_key(protocol: &str, parts: &[&str]) -> Option<IdempotencyKey> {
    let digest = Fingerprint::of(&parts);
    let digits = digest.bytes().iter().map(|byte| format!("{byte:02x}"));
    let key = format!("{protocol}:{}", digits.collect::<String>());
    key.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equal_parts_have_equal_keys() {
        let key = |parts: &[&str]| resend_key("ai-sdk", parts).unwrap();
        assert_eq!(key(&["a", "b"]), key(&["a", "b"]));
        assert_ne!(key(&["a", "b"]), key(&["ab", ""]));
        assert_ne!(key(&["a", "b"]), key(&["b", "a"]));
    }
}
