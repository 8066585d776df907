//! A key that signs access tokens, as it is stored.

use domain::SigningKey;
use serde_json::Value;

use crate::column::StoredTime;

/// A signing key as it is stored.
#[derive(sqlx::FromRow)]
pub struct StoredSigningKey {
    kid: String,
    private_key: Vec<u8>,
    is_sealed: bool,
    public_key: Value,
    created_at: StoredTime,
    valid_until: Option<StoredTime>,
}

impl From<StoredSigningKey> for SigningKey {
    fn from(row: StoredSigningKey) -> Self {
        Self {
            kid: row.kid,
            private_key: row.private_key,
            is_sealed: row.is_sealed,
            public_key: row.public_key,
            created_at: row.created_at.0,
            valid_until: row.valid_until.map(|time| time.0),
        }
    }
}
