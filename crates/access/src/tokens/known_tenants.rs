//! The existing tenants.

use std::{collections::HashSet, sync::Arc};

use domain::{TenantId, Timestamp};
use parking_lot::RwLock;
use ports::{RepositoryError, TenantRepository};

/// A cache of the existing tenants. Tenants are never deleted, so the cache is never larger than
/// the table in the store.
pub(super) struct KnownTenants {
    tenants: Arc<dyn TenantRepository>,
    known: RwLock<HashSet<TenantId>>,
}

impl KnownTenants {
    pub(super) fn new(tenants: Arc<dyn TenantRepository>) -> Self {
        Self {
            tenants,
            known: RwLock::default(),
        }
    }

    /// Creates a tenant, unless it exists.
    pub(super) async fn create_if_missing(
        &self,
        id: &TenantId,
        at: Timestamp,
    ) -> Result<(), RepositoryError> {
        if self.contains(id).await? {
            return Ok(());
        }
        match self.tenants.insert(id, at).await {
            // Another process that starts with the same configuration has created it first.
            Ok(()) | Err(RepositoryError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns true if the tenant exists.
    pub(super) async fn contains(&self, id: &TenantId) -> Result<bool, RepositoryError> {
        let is_known = |known: &HashSet<TenantId>| known.contains(id);
        if is_known(&self.known.read()) {
            return Ok(true);
        }
        let exists = self.tenants.exists(id).await?;
        if exists {
            let mut known = self.known.write();
            known.insert(id.clone());
        }
        Ok(exists)
    }
}
