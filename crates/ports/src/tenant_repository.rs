//! Tenants in a store.

use async_trait::async_trait;
use domain::{Tenant, TenantId, Timestamp};

use crate::RepositoryError;

/// Tenants in a store. A migrated store MUST contain the tenant `default`.
#[async_trait]
pub trait TenantRepository: Send + Sync {
    /// Creates a tenant with an empty log. MUST return `Conflict` if it exists.
    async fn insert(&self, id: &TenantId, at: Timestamp) -> Result<(), RepositoryError>;

    /// Returns `true` if the tenant exists.
    async fn exists(&self, id: &TenantId) -> Result<bool, RepositoryError>;

    /// Returns all tenants, by id.
    async fn list(&self) -> Result<Vec<Tenant>, RepositoryError>;
}
