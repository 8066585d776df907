//! Removal of expired events from the log, in the background.

use std::{collections::HashMap, sync::Arc, time::Duration};

use domain::Timestamp;
use parking_lot::Mutex;
use ports::{LogHead, Maintenance, RepositoryError};
use tokio::{sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    background::{AFTER_START, every},
    followers::FollowerWork,
};

/// The maximum number of events that one call removes, small enough not to delay others.
const CHUNK: usize = 500;
/// The interval at which expired events are removed.
const INTERVAL: Duration = Duration::from_mins(1);

/// The time for which expired events are kept for a follower that has not read them.
const KEPT_FOR_FOLLOWER: Duration = Duration::from_hours(24);

/// Removes expired events from the log in the background.
pub struct LogRetention {
    maintenance: Arc<dyn Maintenance>,
    retention: Duration,
    follower: Arc<dyn FollowerWork>,
    heads: watch::Receiver<Arc<[LogHead]>>,
    /// The heads at the last round. A follower that has not reached them since is behind.
    last_heads: Mutex<Option<Arc<[LogHead]>>>,
}

impl LogRetention {
    /// Creates a task that keeps events for `retention`, or longer while `follower` is behind `heads`.
    pub fn new(
        maintenance: Arc<dyn Maintenance>,
        retention: Duration,
        follower: Arc<dyn FollowerWork>,
        heads: watch::Receiver<Arc<[LogHead]>>,
    ) -> Self {
        Self {
            maintenance,
            retention,
            follower,
            heads,
            last_heads: Mutex::default(),
        }
    }

    /// Removes expired events every minute until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        if stop.run_until_cancelled(sleep(AFTER_START)).await.is_none() {
            return;
        }
        every(
            INTERVAL,
            &stop,
            "cannot remove expired events; retrying",
            || async {
                let events = self.trim(&stop).await?;
                if events > 0 {
                    tracing::debug!(events, "expired events removed");
                }
                Ok::<_, RepositoryError>(())
            },
        )
        .await;
    }

    /// Removes all expired events chunk by chunk, and returns their number.
    async fn trim(&self, stop: &CancellationToken) -> Result<u64, RepositoryError> {
        let age = if self.is_follower_behind().await? {
            self.retention.saturating_add(KEPT_FOR_FOLLOWER)
        } else {
            self.retention
        };
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
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

    /// Returns whether the follower has not reached the heads of the last round.
    async fn is_follower_behind(&self) -> Result<bool, RepositoryError> {
        let heads = Arc::clone(&*self.heads.borrow());
        let Some(heads) = self.last_heads.lock().replace(heads) else {
            // The first round after the start cannot know.
            return Ok(true);
        };
        let positions: HashMap<_, _> = self.follower.positions().await?.into_iter().collect();
        let is_behind = |head: &LogHead| {
            let position = positions.get(&head.tenant);
            position.is_some_and(|position| position.seq < head.head)
        };
        Ok(heads.iter().any(is_behind))
    }
}

#[cfg(test)]
mod tests;
