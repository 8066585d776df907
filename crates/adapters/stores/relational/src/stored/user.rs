//! A user as it is stored.

use domain::{TenantId, User, config::Metadata};
use ports::RepositoryError;
use sqlx::types::Json;

use crate::column::{self, StoredTime};

/// The columns of a user `u`.
#[macro_export]
macro_rules! user_columns {
    () => {
        "u.user_id, u.name, u.context, u.metadata, u.created_at, u.updated_at"
    };
}

/// A user as it is stored.
#[derive(sqlx::FromRow)]
pub struct StoredUser {
    user_id: String,
    name: Option<String>,
    context: String,
    metadata: Json<Metadata>,
    created_at: StoredTime,
    updated_at: StoredTime,
}

impl From<StoredUser> for User {
    fn from(row: StoredUser) -> Self {
        Self {
            user_id: row.user_id,
            name: row.name,
            context: row.context,
            metadata: row.metadata.0,
            created_at: row.created_at.0,
            updated_at: row.updated_at.0,
        }
    }
}

/// The head of a tenant's log, and a user, if it is stored.
#[derive(sqlx::FromRow)]
pub struct StoredFoundUser {
    pub(crate) head_seq: i64,
    user_id: Option<String>,
    name: Option<String>,
    context: Option<String>,
    metadata: Option<Json<Metadata>>,
    created_at: Option<StoredTime>,
    updated_at: Option<StoredTime>,
}

impl StoredFoundUser {
    pub(crate) fn into_user(self) -> Option<User> {
        Some(User {
            user_id: self.user_id?,
            name: self.name,
            context: self.context?,
            metadata: self.metadata?.0,
            created_at: self.created_at?.0,
            updated_at: self.updated_at?.0,
        })
    }
}

/// A user and its tenant.
#[derive(sqlx::FromRow)]
pub struct StoredUserInTenant {
    tenant_id: String,
    #[sqlx(flatten)]
    user: StoredUser,
}

impl TryFrom<StoredUserInTenant> for ((TenantId, String), User) {
    type Error = RepositoryError;

    fn try_from(row: StoredUserInTenant) -> Result<Self, RepositoryError> {
        let tenant = column::parse("users.tenant_id", &row.tenant_id)?;
        let user = User::from(row.user);
        Ok(((tenant, user.user_id.clone()), user))
    }
}
