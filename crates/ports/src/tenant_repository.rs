//! Tenants in a store.

use async_trait::async_trait;
use domain::{Tenant, TenantId, Timestamp};

use crate::RepositoryError;

/// Tenants in a store. A migrated store MUST hold the tenant `default`.
#[async_trait]
pub trait TenantRepository: Send + Sync {
    /// Makes a tenant with an empty log. MUST answer `Conflict` when it exists.
    async fn insert(&self, id: &TenantId, at: Timestamp) -> Result<(), RepositoryError>;

    /// Whether there is such a tenant.
    async fn exists(&self, id: &TenantId) -> Result<bool, RepositoryError>;

    /// All tenants, by id.
    async fn list(&self) -> Result<Vec<Tenant>, RepositoryError>;
}
