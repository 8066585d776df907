//! Rows of `credentials`, and the row of `store_state`.

use domain::{CredentialId, Timestamp};

/// A credential that is revoked, unless it is revoked already.
#[derive(Debug, Clone, PartialEq)]
pub struct Revocation {
    /// The credential.
    pub id: CredentialId,
    /// The time of the revocation.
    pub revoked_at: Timestamp,
}

/// The changes of the state of the store as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StateChange {
    /// True if the version of access is raised, so that every node discards its cached credentials.
    pub raises_access_version: bool,
    /// True if the store is recorded as having contained a key.
    pub records_key: bool,
}
