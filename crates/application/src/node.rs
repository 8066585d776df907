//! The node of this process in the store: its lease proves that its turns are alive.

use std::{sync::Arc, time::Duration};

use domain::NodeId;
use parking_lot::RwLock;
use ports::{IdSource, NodeRepository, RepositoryError};
use tokio::{
    sync::{Mutex, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::background::{every, round};

/// The time for which a lease is valid without a renewal.
const LEASE: Duration = Duration::from_secs(10);
/// The interval at which the lease is renewed.
const RENEWAL: Duration = Duration::from_secs(3);
/// The maximum time between two renewals of a streak. After a longer time, the process was
/// suspended or the store did not respond.
const MAX_GAP: Duration = Duration::from_secs(5);

/// The node of this process in the store, with an id that is new at each start.
pub struct Node {
    nodes: Arc<dyn NodeRepository>,
    ids: Arc<dyn IdSource>,
    id: watch::Sender<NodeId>,
    /// Held while a new id is registered.
    renewing_identity: Mutex<()>,
    /// `None` if the last renewal failed.
    streak: RwLock<Option<RenewalStreak>>,
}

/// A series of successful renewals without a gap.
#[derive(Debug, Clone, Copy)]
struct RenewalStreak {
    first: Instant,
    last: Instant,
}

impl Node {
    /// Registers this process in the store.
    pub async fn register(
        nodes: Arc<dyn NodeRepository>,
        ids: Arc<dyn IdSource>,
    ) -> Result<Self, RepositoryError> {
        let id = NodeId::new(ids.next_id());
        nodes.insert(id, LEASE).await?;
        Ok(Self {
            nodes,
            ids,
            id: watch::Sender::new(id),
            renewing_identity: Mutex::new(()),
            streak: RwLock::new(Some(RenewalStreak::begin())),
        })
    }

    /// Returns the id under which turns run now.
    pub fn id(&self) -> NodeId {
        *self.id.borrow()
    }

    /// Subscribes to the id. When it changes, other processes end the turns that run under the old
    /// id.
    pub fn watch(&self) -> watch::Receiver<NodeId> {
        self.id.subscribe()
    }

    /// Returns the time for which every renewal of the lease has succeeded without a gap.
    pub fn renewal_streak(&self) -> Duration {
        let streak = *self.streak.read();
        streak
            .filter(|streak| streak.last.elapsed() < MAX_GAP)
            .map_or(Duration::ZERO, |streak| streak.first.elapsed())
    }

    /// Extends, restarts or ends the streak after a renewal; `None` is a renewal that panicked.
    fn record_renewal(&self, renewed: Option<&Result<bool, RepositoryError>>) {
        let mut streak = self.streak.write();
        *streak = match (renewed, *streak) {
            (Some(Ok(true)), Some(before)) if before.last.elapsed() < MAX_GAP => {
                Some(RenewalStreak {
                    last: Instant::now(),
                    ..before
                })
            }
            (Some(Ok(_)), _) => Some(RenewalStreak::begin()),
            (Some(Err(_)) | None, _) => None,
        };
    }

    /// Registers a new id, because other processes have marked the id `dead` as such. If a concurrent
    /// call has already replaced `dead`, this does nothing.
    pub async fn renew_identity(&self, dead: NodeId) -> Result<(), RepositoryError> {
        let _lock = self.renewing_identity.lock().await;
        if self.id() != dead {
            return Ok(());
        }
        let id = NodeId::new(self.ids.next_id());
        self.nodes.insert(id, LEASE).await?;
        tracing::warn!(
            before = %dead,
            now = %id,
            "node lease expired; this process continues under a new node id"
        );
        self.id.send_replace(id);
        Ok(())
    }

    /// Renews the lease and returns whether it was still valid. If it was not, this process
    /// registers a new id.
    async fn renew(&self) -> Result<bool, RepositoryError> {
        let id = self.id();
        let was_valid = self.nodes.renew(id, LEASE).await?;
        if !was_valid {
            self.renew_identity(id).await?;
        }
        Ok(was_valid)
    }

    /// Renews the lease until `stop`, then deletes the node from the store.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let failure = "cannot renew the node lease; retrying";
        every(RENEWAL, &stop, failure, || async {
            let renewed = round(self.renew()).await;
            self.record_renewal(renewed.as_ref());
            renewed.transpose().map(drop)
        })
        .await;
        if let Err(error) = self.nodes.delete(self.id()).await {
            tracing::warn!(
                error = ports::error::one_line(&error),
                "cannot delete the node at shutdown; other nodes wait until its lease expires"
            );
        }
    }
}

impl RenewalStreak {
    fn begin() -> Self {
        let now = Instant::now();
        Self {
            first: now,
            last: now,
        }
    }
}

#[cfg(test)]
mod tests;
