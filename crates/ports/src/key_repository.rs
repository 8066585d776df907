//! API keys in a store.

use async_trait::async_trait;
use domain::{ApiKey, KeyId, Page, TenantId, Timestamp};

use crate::RepositoryError;

/// The last key of the page before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPosition {
    /// When it was made.
    pub created_at: Timestamp,
    /// The key.
    pub id: KeyId,
}

/// API keys in a store. Whatever makes a key less powerful MUST raise the store-wide access
/// version in the same transaction, so that every node drops what it cached.
#[async_trait]
pub trait KeyRepository: Send + Sync {
    /// Stores a new key. MUST answer `Conflict` when the id exists.
    async fn insert(&self, key: &ApiKey) -> Result<(), RepositoryError>;

    /// Stores the first key of the store. MUST write nothing and answer `false` when the store
    /// holds a key or has ever held one, also when two processes ask at the same time.
    async fn insert_first(&self, key: &ApiKey) -> Result<bool, RepositoryError>;

    /// Whether the store holds a key or has ever held one.
    async fn has_ever_held_one(&self) -> Result<bool, RepositoryError>;

    /// Finds a key by its public id, in whatever tenant, revoked and expired ones included.
    async fn find(&self, id: &KeyId) -> Result<Option<ApiKey>, RepositoryError>;

    /// Lists a tenant's keys, newest first (`created_at`, then id, both descending).
    async fn list(
        &self,
        tenant: &TenantId,
        after: Option<&KeyPosition>,
        limit: usize,
    ) -> Result<Page<ApiKey>, RepositoryError>;

    /// Refuses a key from now on. MUST raise the access version. Answers whether there is such a
    /// key in the tenant; a key revoked before stays as it was.
    async fn revoke(
        &self,
        tenant: &TenantId,
        id: &KeyId,
        at: Timestamp,
    ) -> Result<bool, RepositoryError>;

    /// Notes that keys were used. MUST NOT move a key's time backwards.
    async fn touch(&self, used: &[(KeyId, Timestamp)]) -> Result<(), RepositoryError>;

    /// The store-wide number that grows with every revocation and rotation.
    async fn access_version(&self) -> Result<i64, RepositoryError>;
}
