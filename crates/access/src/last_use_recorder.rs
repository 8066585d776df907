//! Recording of the last use of each credential.

use std::{collections::HashMap, sync::Arc, time::Duration};

use domain::{CredentialId, Timestamp};
use parking_lot::Mutex;
use ports::{CredentialRepository, RepositoryError};
use tokio_util::sync::CancellationToken;

use application::background::every;

use crate::HomeAuthority;

/// The interval between two writes, and the precision of `lastUsedAt`.
const FLUSH_INTERVAL: Duration = Duration::from_mins(1);
/// The maximum number of uses in one write. A far node sends each write in one request.
const MAX_USES: usize = 2_000;

/// Collects the last use of each credential in memory and stores it once a minute, so that requests
/// cause no writes.
pub struct LastUseRecorder {
    credentials: Arc<dyn CredentialRepository>,
    /// The home region, in a far region.
    home: Option<Arc<HomeAuthority>>,
    pending: Mutex<HashMap<CredentialId, Timestamp>>,
}

impl LastUseRecorder {
    /// Creates a recorder that stores into this repository.
    pub fn new(credentials: Arc<dyn CredentialRepository>) -> Self {
        Self {
            credentials,
            home: None,
            pending: Mutex::default(),
        }
    }

    /// Lets the home region store the uses.
    #[must_use]
    pub fn with_home(self, home: Option<Arc<HomeAuthority>>) -> Self {
        Self { home, ..self }
    }

    /// Records the use of a credential.
    pub fn record(&self, key: &CredentialId, at: Timestamp) {
        let mut pending = self.pending.lock();
        match pending.get_mut(key) {
            Some(last) => *last = at.max(*last),
            None => {
                pending.insert(key.clone(), at);
            }
        }
    }

    /// Flushes once a minute until `stop`, and then once more.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let failure = "last use of credentials cannot be stored";
        every(FLUSH_INTERVAL, &stop, failure, || self.flush()).await;
        if let Err(error) = self.flush().await {
            tracing::warn!(error = ports::error::one_line(&error), "{failure}");
        }
    }

    /// Stores all uses since the last successful write.
    pub async fn flush(&self) -> Result<(), RepositoryError> {
        let uses: Vec<(CredentialId, Timestamp)> = self.pending.lock().drain().collect();
        let mut rest = &uses[..];
        while !rest.is_empty() {
            let (some, others) = rest.split_at(MAX_USES.min(rest.len()));
            let written = match &self.home {
                Some(home) => home.record_uses(some).await,
                None => self.credentials.touch(some).await,
            };
            if written.is_err() {
                for (key, at) in rest {
                    self.record(key, *at);
                }
                return written;
            }
            rest = others;
        }
        Ok(())
    }
}
