//! Changes of access: found in the store, and reported between nodes.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures::{FutureExt as _, StreamExt as _};
use ports::{EventBus, RepositoryError, Signal};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::Authenticator;

/// The interval between two reads of the access version: one row by its key. Even on a busy
/// machine, a revocation takes effect within one second.
const REFRESH_INTERVAL: Duration = Duration::from_millis(250);
/// The time without a successful read of the access version after which the cache is not used.
const VERSION_TRUSTED_FOR: Duration = Duration::from_secs(5);
/// The time after which a replica that does not respond cannot be read. It is shorter than the time in
/// which a revocation takes effect.
const REPLICA_TIMEOUT: Duration = Duration::from_millis(500);
/// The maximum number of reported changes that lead to one refresh.
const MAX_REPORTS: usize = 1_024;

impl Authenticator {
    /// Refreshes until `stop`.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let failure = "access version cannot be read";
        application::background::every(REFRESH_INTERVAL, &stop, failure, || self.refresh()).await;
    }

    /// Reports changes of this process to other nodes, and refreshes when they report theirs, until
    /// `stop`. Without signals, the regular refresh finds the changes of other nodes.
    pub async fn exchange_changes(
        self: Arc<Self>,
        bus: Arc<dyn EventBus>,
        stop: CancellationToken,
    ) {
        let reported = bus.subscribe(Box::new(|signal| *signal == Signal::AccessChanged));
        let mut reported = reported.ready_chunks(MAX_REPORTS);
        // The reports of this process that it has not received yet. It refreshes without them.
        let mut own = 0_usize;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.own_change.notified() => {
                    own += 1;
                    bus.publish(Signal::AccessChanged);
                }
                Some(reports) = reported.next() => {
                    let received = own.min(reports.len());
                    own -= received;
                    if reports.len() > received {
                        self.refresh_or_warn().await;
                    }
                }
            }
        }
    }

    /// Reads the access version once, and clears the cache if it has changed.
    pub async fn refresh(&self) -> Result<(), RepositoryError> {
        let until = self.clock.running_for() + VERSION_TRUSTED_FOR;
        let (version, is_store_readable) = match &self.home {
            Some(home) => {
                let replica = self.version_of_replica().await;
                let is_readable = replica.is_ok();
                match home.compare_versions(replica) {
                    Some(version) => (version, is_readable),
                    // The cache is not used.
                    None => return Ok(()),
                }
            }
            None => (self.credentials.access_version().await?, true),
        };
        if self.version.load(Ordering::Acquire) != version {
            self.cache.invalidate_all();
            if is_store_readable {
                let reload = self.tokens.reload();
                match &self.home {
                    Some(_) => in_time(reload).await?,
                    None => reload.await?,
                }
            }
            // Credentials that were verified meanwhile may depend on signing keys that are no
            // longer valid.
            self.cache.invalidate_all();
            self.version.store(version, Ordering::Release);
            self.changes.send_replace(());
        }
        let until = u64::try_from(until.as_millis()).unwrap_or(u64::MAX);
        self.current_until.store(until, Ordering::Release);
        Ok(())
    }

    /// Reads the access version of the replica. A read that takes too long is awaited before the next
    /// one, so that they do not accumulate at a replica that hangs.
    async fn version_of_replica(&self) -> Result<i64, RepositoryError> {
        in_time(async {
            let mut running = self.replica_read.lock().await;
            if let Some(late) = running.as_mut() {
                // Its result is too old.
                let _ = late.await;
            }
            let credentials = Arc::clone(&self.credentials);
            let read = async move { credentials.access_version().await };
            let version = running.insert(read.boxed()).await;
            *running = None;
            version
        })
        .await
    }

    /// Clears the cache at once, after this process has changed credentials, and then reads the
    /// access version. A revoked credential is rejected from now on even if that read fails; the
    /// regular read follows soon.
    pub async fn refresh_after_change(&self) {
        self.cache.invalidate_all();
        self.own_change.notify_one();
        self.refresh_or_warn().await;
    }

    async fn refresh_or_warn(&self) {
        if let Err(error) = self.refresh().await {
            tracing::warn!(
                error = ports::error::one_line(&error),
                "access version cannot be read after a change"
            );
        }
    }
}

/// Waits for a call of a replica.
async fn in_time<T>(
    call: impl Future<Output = Result<T, RepositoryError>>,
) -> Result<T, RepositoryError> {
    timeout(REPLICA_TIMEOUT, call)
        .await
        .unwrap_or_else(|elapsed| Err(RepositoryError::Unavailable(elapsed.into())))
}
