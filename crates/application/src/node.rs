//! The node of this process in the store: its lease proves that its turns are alive.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use domain::NodeId;
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
/// The time without a renewal after which at least one renewal is missing: the process was
/// suspended, or the store does not respond.
const MISSING: Duration = Duration::from_secs(5);

/// The node of this process in the store, with an id that is new at each start.
pub struct Node {
    nodes: Arc<dyn NodeRepository>,
    ids: Arc<dyn IdSource>,
    id: watch::Sender<NodeId>,
    renewing: Mutex<()>,
    /// The uninterrupted successful renewals; `None` if the last renewal failed.
    steady: RwLock<Option<Steady>>,
}

/// A series of successful renewals.
#[derive(Debug, Clone, Copy)]
struct Steady {
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
            renewing: Mutex::new(()),
            steady: RwLock::new(Some(Steady::begin())),
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

    /// Returns the time for which every renewal of the lease has succeeded and none is missing.
    pub fn steady_for(&self) -> Duration {
        let steady = self.steady.read();
        let steady = *steady.unwrap_or_else(PoisonError::into_inner);
        steady
            .filter(|steady| steady.last.elapsed() < MISSING)
            .map_or(Duration::ZERO, |steady| steady.first.elapsed())
    }

    fn note_renewal(&self, renewed: Option<&Result<bool, RepositoryError>>) {
        let steady = self.steady.write();
        let mut steady = steady.unwrap_or_else(PoisonError::into_inner);
        *steady = match (renewed, *steady) {
            (Some(Ok(true)), Some(before)) if before.last.elapsed() < MISSING => Some(Steady {
                last: Instant::now(),
                ..before
            }),
            (Some(Ok(_)), _) => Some(Steady::begin()),
            (Some(Err(_)) | None, _) => None,
        };
    }

    /// Registers a new id, because other processes have marked `refused` as dead. If a concurrent
    /// call has already replaced `refused`, this does nothing.
    pub async fn renew_identity(&self, refused: NodeId) -> Result<(), RepositoryError> {
        let _one_at_a_time = self.renewing.lock().await;
        if self.id() != refused {
            return Ok(());
        }
        let id = NodeId::new(self.ids.next_id());
        self.nodes.insert(id, LEASE).await?;
        tracing::warn!(
            before = %refused,
            now = %id,
            "this node was taken for dead and goes on under a new id"
        );
        self.id.send_replace(id);
        Ok(())
    }

    /// Renews the lease and returns whether it was still valid. If it was not, this process
    /// registers a new id.
    async fn renew(&self) -> Result<bool, RepositoryError> {
        let id = self.id();
        let held = self.nodes.renew(id, LEASE).await?;
        if !held {
            self.renew_identity(id).await?;
        }
        Ok(held)
    }

    /// Renews the lease until `stop`, then deletes the node from the store.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let failure = "the lease of this node cannot be renewed";
        every(RENEWAL, &stop, failure, || async {
            let renewed = round(self.renew()).await;
            self.note_renewal(renewed.as_ref());
            renewed.transpose().map(drop)
        })
        .await;
        if let Err(error) = self.nodes.delete(self.id()).await {
            tracing::warn!(
                error = ports::error::chain(&error),
                "this node could not sign off"
            );
        }
    }
}

impl Steady {
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
