//! When each credential was last seen, written off the request path.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use domain::{CredentialId, Timestamp};
use ports::{CredentialRepository, RepositoryError};
use tokio_util::sync::CancellationToken;

use crate::background::every;

/// How often what was seen is written: the precision of `lastUsedAt`.
const INTERVAL: Duration = Duration::from_mins(1);

/// When each credential was last seen, kept in memory and written once a minute.
pub struct LastUsed {
    credentials: Arc<dyn CredentialRepository>,
    seen: Mutex<HashMap<CredentialId, Timestamp>>,
}

impl LastUsed {
    /// Written to these credentials.
    pub fn new(credentials: Arc<dyn CredentialRepository>) -> Self {
        Self {
            credentials,
            seen: Mutex::default(),
        }
    }

    /// Notes that a credential was used.
    pub fn note(&self, key: &CredentialId, at: Timestamp) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.get_mut(key) {
            Some(last) => *last = at.max(*last),
            None => {
                seen.insert(key.clone(), at);
            }
        }
    }

    /// Writes once a minute until `stop`, and then once more.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let failure = "the use of credentials cannot be written";
        every(INTERVAL, &stop, failure, || self.write()).await;
        if let Err(error) = self.write().await {
            tracing::warn!(error = ports::error::chain(&error), "{failure}");
        }
    }

    /// Writes what was seen since the last time.
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
