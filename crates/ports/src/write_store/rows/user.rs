//! Rows of `users`.

use domain::{ErasureId, Seq, TenantId, User};

/// A row of `users`.
#[derive(Debug, Clone, PartialEq)]
pub struct UserRow {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The user.
    pub user: User,
    /// The sort key in listings of a new user: the position of its event. That of a stored one stays.
    pub sort_seq: Seq,
}

/// A user whose data is erased: its row of `users` is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasureRow {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The erasure.
    pub id: ErasureId,
    /// The user.
    pub user_id: String,
}
