//! The time of the last use of each credential, stored outside of requests.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use domain::{CredentialId, Timestamp};
use ports::{CredentialRepository, RepositoryError};
use tokio_util::sync::CancellationToken;

use application::background::every;

/// The interval between two writes, and the precision of `lastUsedAt`.
const INTERVAL: Duration = Duration::from_mins(1);

/// The time of the last use of each credential, kept in memory and stored once a minute.
pub struct LastUsed {
    credentials: Arc<dyn CredentialRepository>,
    seen: Mutex<HashMap<CredentialId, Timestamp>>,
}

impl LastUsed {
    /// Creates an empty record that is stored through this repository.
    pub fn new(credentials: Arc<dyn CredentialRepository>) -> Self {
        Self {
            credentials,
            seen: Mutex::default(),
        }
    }

    /// Records the use of a credential.
    pub fn note(&self, key: &CredentialId, at: Timestamp) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.get_mut(key) {
            Some(last) => *last = at.max(*last),
            None => {
                seen.insert(key.clone(), at);
            }
        }
    }

    /// Stores the record once a minute until `stop`, and then once more.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let failure = "the use of credentials cannot be written";
        every(INTERVAL, &stop, failure, || self.write()).await;
        if let Err(error) = self.write().await {
            tracing::warn!(error = ports::error::chain(&error), "{failure}");
        }
    }

    /// Stores all uses since the last successful write.
    pub async fn write(&self) -> Result<(), RepositoryError> {
        let seen: Vec<(CredentialId, Timestamp)> = self
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain()
            .collect();
        if seen.is_empty() {
            return Ok(());
        }
        let written = self.credentials.touch(&seen).await;
        if written.is_err() {
            for (key, at) in &seen {
                self.note(key, *at);
            }
        }
        written
    }
}
