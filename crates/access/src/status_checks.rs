//! Checks of the status of credentials, shared between all connections with the same credential.

use domain::CredentialSource;
use quick_cache::sync::Cache;
use tokio::sync::Semaphore;

use super::{AccessError, CredentialStatus, auth_cache::Generation};
use application::cache::weight;

/// The maximum number of cached results.
const REMEMBERED: usize = 10_000;
/// The maximum size of a result in memory, in bytes: ids and digests of fixed lengths.
const ANSWER_BYTES: usize = 256;
/// The maximum number of concurrent checks in the store. A revocation causes a new check for every
/// open socket, and requests need the store as well.
const AT_ONCE: usize = 8;

/// Checks of the status of credentials. A result is valid for all connections with the same
/// credential, within the generation in which its check began.
pub(super) struct StatusChecks {
    answers: Cache<(CredentialSource, Generation), CredentialStatus>,
    permits: Semaphore,
}

impl StatusChecks {
    /// Creates an empty cache of results.
    pub(super) fn new() -> Self {
        Self {
            answers: Cache::new(REMEMBERED),
            permits: Semaphore::new(AT_ONCE),
        }
    }

    /// Stores the result of a check that began in `epoch`.
    pub(super) fn keep(
        &self,
        standing: &CredentialSource,
        epoch: Generation,
        found: CredentialStatus,
    ) {
        self.answers.insert((standing.clone(), epoch), found);
        self.report_weight();
    }

    /// Returns the stored result for `epoch`. If none exists, runs `look`; concurrent callers for
    /// the same credential wait for its result.
    pub(super) async fn again(
        &self,
        standing: &CredentialSource,
        epoch: Generation,
        look: impl Future<Output = Result<CredentialStatus, AccessError>>,
    ) -> Result<CredentialStatus, AccessError> {
        let permitted = async {
            // The semaphore is never closed, so `acquire` cannot fail.
            let _permit = self.permits.acquire().await;
            look.await
        };
        let key = (standing.clone(), epoch);
        let found = self.answers.get_or_insert_async(&key, permitted).await;
        self.report_weight();
        found
    }

    fn report_weight(&self) {
        let bytes = self.answers.len() * ANSWER_BYTES;
        weight::report("credential_standings", bytes as u64);
    }
}
