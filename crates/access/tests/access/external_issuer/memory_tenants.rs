//! A tenant repository in memory.

use std::collections::BTreeSet;

use async_trait::async_trait;
use domain::{Tenant, TenantId, Timestamp};
use parking_lot::Mutex;
use ports::{RepositoryError, TenantRepository};

/// Tenants in memory, and a record of their lookups.
pub(crate) struct MemoryTenants {
    names: Mutex<BTreeSet<String>>,
    requests: Mutex<Vec<String>>,
    created_elsewhere: Mutex<Option<String>>,
}

impl MemoryTenants {
    pub(crate) fn new(names: &[&str]) -> Self {
        Self {
            names: Mutex::new(names.iter().map(|name| (*name).to_owned()).collect()),
            requests: Mutex::default(),
            created_elsewhere: Mutex::default(),
        }
    }

    /// Creates this tenant right after the next lookup, as another process might.
    pub(crate) fn create_after_next_lookup(&self, name: &str) {
        *self.created_elsewhere.lock() = Some(name.to_owned());
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.names.lock().iter().cloned().collect()
    }

    /// The tenants that have been looked up so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().clone()
    }
}

#[async_trait]
impl TenantRepository for MemoryTenants {
    async fn insert(&self, id: &TenantId, _at: Timestamp) -> Result<(), RepositoryError> {
        let is_new = self.names.lock().insert(id.to_string());
        is_new
            .then_some(())
            .ok_or(RepositoryError::Conflict { what: "tenant" })
    }

    async fn exists(&self, id: &TenantId) -> Result<bool, RepositoryError> {
        self.requests.lock().push(id.to_string());
        let exists = self.names.lock().contains(id.as_str());
        self.names
            .lock()
            .extend(self.created_elsewhere.lock().take());
        Ok(exists)
    }

    async fn list(&self) -> Result<Vec<Tenant>, RepositoryError> {
        panic!("nothing lists tenants here")
    }
}
