//! Looks at what principals' standing rests on, shared by all who have the same.

use domain::CredentialSource;
use quick_cache::sync::Cache;
use tokio::sync::Semaphore;

use super::{AccessError, CredentialStatus, auth_cache::Generation};
use crate::cache::weight;

/// How many answers are remembered.
const REMEMBERED: usize = 10_000;
/// The largest size of an answer in memory: ids and digests of fixed lengths.
const ANSWER_BYTES: usize = 256;
/// How many looks at the store are under way at once: when something was taken back, everybody who
/// has a socket open is looked at again, and requests need the store as well.
const AT_ONCE: usize = 8;

/// Looks at what principals' standing rests on. One answer is good for all who have the same, in
/// the epoch in which it was asked for.
pub(super) struct StatusChecks {
    answers: Cache<(CredentialSource, Generation), CredentialStatus>,
    permits: Semaphore,
}

impl StatusChecks {
    /// No look yet.
    pub(super) fn new() -> Self {
        Self {
            answers: Cache::new(REMEMBERED),
            permits: Semaphore::new(AT_ONCE),
        }
    }

    /// Remembers what was found by a look that was begun in `epoch`.
    pub(super) fn keep(
        &self,
        standing: &CredentialSource,
        epoch: Generation,
        found: CredentialStatus,
    ) {
        self.answers.insert((standing.clone(), epoch), found);
        self.report_weight();
    }

    /// What a look in `epoch` found; if there was none, what `look` finds now, while all who ask
    /// for the same wait.
    pub(super) async fn again(
        &self,
        standing: &CredentialSource,
        epoch: Generation,
        look: impl Future<Output = Result<CredentialStatus, AccessError>>,
    ) -> Result<CredentialStatus, AccessError> {
        let permitted = async {
            // It is never closed.
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
