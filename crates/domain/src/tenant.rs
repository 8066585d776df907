//! Tenants: the owners of all data.

use std::{borrow::Borrow, fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// A tenant's id, chosen by the operator: 1 to 64 of `a-z`, `0-9` and `-`. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct TenantId(Arc<str>);

/// The error for a text that is not a tenant's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a tenant id is 1 to 64 of a-z, 0-9 and '-'")]
pub struct MalformedTenantId;

impl TenantId {
    /// The tenant of a new installation.
    pub const DEFAULT: &'static str = "default";

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TenantId {
    type Err = MalformedTenantId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if text.is_empty() || text.len() > 64 || !text.bytes().all(allowed) {
            return Err(MalformedTenantId);
        }
        Ok(Self(text.into()))
    }
}

impl TryFrom<String> for TenantId {
    type Error = MalformedTenantId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl Borrow<str> for TenantId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TenantId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for TenantId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TenantId({})", self.0)
    }
}

#[cfg(feature = "schema")]
impl utoipa::PartialSchema for TenantId {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        String::schema()
    }
}

#[cfg(feature = "schema")]
impl utoipa::ToSchema for TenantId {}

/// A tenant, for the operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tenant {
    /// The tenant's id.
    pub id: TenantId,
    /// The time of creation.
    pub created_at: Timestamp,
}
