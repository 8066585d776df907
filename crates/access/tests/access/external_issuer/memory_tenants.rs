//! A tenant repository in memory.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use domain::{Tenant, TenantId, Timestamp};
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
        *lock(&self.created_elsewhere) = Some(name.to_owned());
    }

    pub(crate) fn names(&self) -> Vec<String> {
        lock(&self.names).iter().cloned().collect()
    }

    /// The tenants that have been looked up so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        lock(&self.requests).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl TenantRepository for MemoryTenants {
    async fn insert(&self, id: &TenantId, _at: Timestamp) -> Result<(), RepositoryError> {
        let is_new = lock(&self.names).insert(id.to_string());
        is_new
            .then_some(())
            .ok_or(RepositoryError::Conflict { what: "tenant" })
    }

    async fn exists(&self, id: &TenantId) -> Result<bool, RepositoryError> {
        lock(&self.requests).push(id.to_string());
        let exists = lock(&self.names).contains(id.as_str());
        lock(&self.names).extend(lock(&self.created_elsewhere).take());
        Ok(exists)
    }

    async fn list(&self) -> Result<Vec<Tenant>, RepositoryError> {
        panic!("nothing lists tenants here")
    }
}
