//! Removal of expired events from the log, in the background.

use std::{sync::Arc, time::Duration};

use domain::Timestamp;
use ports::{Maintenance, RepositoryError};
use tokio_util::sync::CancellationToken;

use crate::background::every;

/// The maximum number of events that one call removes, small enough not to delay others.
const CHUNK: usize = 500;
/// The interval at which expired events are removed.
const INTERVAL: Duration = Duration::from_mins(1);

/// Removes expired events from the log in the background.
pub struct LogRetention {
    maintenance: Arc<dyn Maintenance>,
    retention: Duration,
}

impl LogRetention {
    /// Creates a task that keeps events for `retention`.
    pub fn new(maintenance: Arc<dyn Maintenance>, retention: Duration) -> Self {
        Self {
            maintenance,
            retention,
        }
    }

    /// Removes expired events every minute until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        every(INTERVAL, &stop, "the log cannot be swept", || async {
            let events = self.sweep(&stop).await?;
            if events > 0 {
                tracing::debug!(events, "removed from the log");
            }
            Ok::<_, RepositoryError>(())
        })
        .await;
    }

    /// Removes all expired events chunk by chunk, and returns their number.
    async fn sweep(&self, stop: &CancellationToken) -> Result<u64, RepositoryError> {
        let age = i64::try_from(self.retention.as_millis()).unwrap_or(i64::MAX);
        let now = self.maintenance.now().await?.milliseconds();
        let before = Timestamp::from_milliseconds(now.saturating_sub(age));
        let mut removed = 0;
        while !stop.is_cancelled() {
            let chunk = self.maintenance.trim_log(before, CHUNK).await?;
            removed += chunk;
            if chunk < CHUNK as u64 {
                break;
            }
        }
        Ok(removed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use ports::RetentionCutoffs;

    use super::*;

    /// A store with a number of expired events; it records the calls.
    #[derive(Default)]
    struct Log {
        old: Mutex<u64>,
        asked: Mutex<Vec<(Timestamp, usize)>>,
        is_away: Mutex<bool>,
    }

    #[async_trait]
    impl Maintenance for Log {
        async fn ping(&self) -> Result<(), RepositoryError> {
            Ok(())
        }

        async fn now(&self) -> Result<Timestamp, RepositoryError> {
            Ok(Timestamp::from_milliseconds(1_000_000))
        }

        async fn purge(&self, _: usize, _: RetentionCutoffs) -> Result<u64, RepositoryError> {
            Ok(0)
        }

        async fn trim_log(&self, before: Timestamp, limit: usize) -> Result<u64, RepositoryError> {
            self.asked.lock().unwrap().push((before, limit));
            if *self.is_away.lock().unwrap() {
                return Err(RepositoryError::Unavailable("away".into()));
            }
            let mut old = self.old.lock().unwrap();
            let removed = (*old).min(limit as u64);
            *old -= removed;
            Ok(removed)
        }
    }

    fn retention(log: &Arc<Log>) -> LogRetention {
        let log = Arc::clone(log);
        LogRetention::new(log, Duration::from_mins(10))
    }

    #[tokio::test]
    async fn removes_in_chunks_until_nothing_is_left() {
        let log = Arc::new(Log::default());
        *log.old.lock().unwrap() = 2 * CHUNK as u64 + 7;
        let stop = CancellationToken::new();
        assert_eq!(retention(&log).sweep(&stop).await.unwrap(), 1_007);
        let before = Timestamp::from_milliseconds(400_000);
        assert_eq!(*log.asked.lock().unwrap(), [(before, CHUNK); 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn sweeps_every_minute_whatever_the_store_says_until_it_is_stopped() {
        let log = Arc::new(Log::default());
        let stop = CancellationToken::new();
        let times = async {
            let mut times = Vec::new();
            for is_away in [true, false, false] {
                *log.is_away.lock().unwrap() = is_away;
                tokio::time::sleep(Duration::from_secs(59)).await;
                times.push(log.asked.lock().unwrap().len());
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            stop.cancel();
            times
        };
        let ((), times) = tokio::join!(retention(&log).run(stop.clone()), times);
        assert_eq!(times, [1, 2, 3]);
    }
}
