//! The cache of credential statuses, shared by all connections with the same credential.

use application::cache::weight;
use domain::{AgentReach, CredentialSource};
use quick_cache::sync::Cache;
use tokio::sync::Semaphore;

use crate::{AccessError, AuthContext, CredentialStatus, auth_cache::Generation};

/// The maximum number of cached statuses.
const MAX_ENTRIES: usize = 10_000;
/// The maximum size of an entry in memory, in bytes: ids and digests of fixed lengths. Its agents are those
/// of the connection.
const ENTRY_BYTES: usize = 256;
/// The maximum number of concurrent checks in the store. A revocation causes a new check for every
/// open socket, and requests need the store as well.
const MAX_CONCURRENT_CHECKS: usize = 8;

/// A credential, the agents that its connections reach, and the generation in which a check began.
type Key = (CredentialSource, AgentReach, Generation);

/// A cache of credential statuses. A status is valid for all connections with the same
/// credential and the same agents, within the generation in which its check began.
pub(crate) struct StatusCache {
    statuses: Cache<Key, CredentialStatus>,
    permits: Semaphore,
}

impl StatusCache {
    /// Creates an empty cache.
    pub(crate) fn new() -> Self {
        Self {
            statuses: Cache::new(MAX_ENTRIES),
            permits: Semaphore::new(MAX_CONCURRENT_CHECKS),
        }
    }

    /// Stores the result of a check that began in `generation`.
    pub(crate) fn insert(
        &self,
        auth_context: &AuthContext,
        generation: Generation,
        status: CredentialStatus,
    ) {
        self.statuses.insert(key(auth_context, generation), status);
        self.report_weight();
    }

    /// Returns the cached status for `generation`. If it is missing, runs `check`; concurrent
    /// callers for the same key wait for its result.
    pub(crate) async fn get_or_check(
        &self,
        auth_context: &AuthContext,
        generation: Generation,
        check: impl Future<Output = Result<CredentialStatus, AccessError>>,
    ) -> Result<CredentialStatus, AccessError> {
        let permitted = async {
            // The semaphore is never closed, so `acquire` cannot fail.
            let _permit = self.permits.acquire().await;
            check.await
        };
        let key = key(auth_context, generation);
        let status = self.statuses.get_or_insert_async(&key, permitted).await;
        self.report_weight();
        status
    }

    fn report_weight(&self) {
        let bytes = self.statuses.len() * ENTRY_BYTES;
        weight::report("credential_standings", bytes as u64);
    }
}

fn key(auth_context: &AuthContext, generation: Generation) -> Key {
    let AuthContext {
        source, principal, ..
    } = auth_context;
    (
        CredentialSource::clone(source),
        principal.agents.clone(),
        generation,
    )
}
