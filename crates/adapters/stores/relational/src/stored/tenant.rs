//! A tenant as it is stored.

use domain::Tenant;
use ports::RepositoryError;

use crate::column::{self, StoredTime};

/// A tenant as it is stored.
#[derive(sqlx::FromRow)]
pub struct StoredTenant {
    id: String,
    created_at: StoredTime,
}

impl TryFrom<StoredTenant> for Tenant {
    type Error = RepositoryError;

    fn try_from(row: StoredTenant) -> Result<Self, RepositoryError> {
        Ok(Self {
            id: column::parse("tenants.id", &row.id)?,
            created_at: row.created_at.0,
        })
    }
}
