//! Ids and random bytes.

use uuid::Uuid;

/// The source of ids and random bytes; a port, so that tests control it.
pub trait IdSource: Send + Sync {
    /// Returns a new UUIDv7. MUST be greater than every id that this process created before.
    fn next_id(&self) -> Uuid;

    /// Fills `bytes` from a cryptographically secure source.
    fn fill_random(&self, bytes: &mut [u8]);
}
