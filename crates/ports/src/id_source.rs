//! Ids and chance.

use uuid::Uuid;

/// Where ids and randomness come from, so that tests are exact.
pub trait IdSource: Send + Sync {
    /// A new UUIDv7. MUST be greater than every one this process made before: listings sort by
    /// ids where they mean "newest first".
    fn next_id(&self) -> Uuid;

    /// Fills `bytes` from a cryptographically secure source.
    fn fill_random(&self, bytes: &mut [u8]);
}
