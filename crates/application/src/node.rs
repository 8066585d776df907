//! This process in the store: the lease that says its turns are alive.

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

/// How long a lease holds without being renewed.
const LEASE: Duration = Duration::from_secs(10);
/// How often it is renewed.
const RENEWAL: Duration = Duration::from_secs(3);

/// This process in the store, under an id that is new at each start.
pub struct Node {
    nodes: Arc<dyn NodeRepository>,
    ids: Arc<dyn IdSource>,
    id: watch::Sender<NodeId>,
    renewing: Mutex<()>,
    /// Since when every renewal has succeeded; none when the last one failed.
    steady_since: RwLock<Option<Instant>>,
}

impl Node {
    /// Registers this process.
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
            steady_since: RwLock::new(Some(Instant::now())),
        })
    }

    /// The id under which turns run now.
    pub fn id(&self) -> NodeId {
        *self.id.borrow()
    }

    /// The id, and when it changes: turns that run under the one before are ended by others then.
    pub fn watch(&self) -> watch::Receiver<NodeId> {
        self.id.subscribe()
    }

    /// For how long every renewal of the lease has succeeded.
    pub fn steady_for(&self) -> Duration {
        let since = self.steady_since.read();
        let since = *since.unwrap_or_else(PoisonError::into_inner);
        since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn note_renewal(&self, has_succeeded: bool) {
        let since = self.steady_since.write();
        let mut since = since.unwrap_or_else(PoisonError::into_inner);
        *since = has_succeeded.then(|| since.unwrap_or_else(Instant::now));
    }

    /// Goes on under a new id: `refused` was taken for dead. Whoever comes second finds that
    /// done already.
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

    /// Renews the lease until `stop`, then leaves the store in order.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(RENEWAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            let id = self.id();
            let renewed = match self.nodes.renew(id, LEASE).await {
                Ok(true) => Ok(()),
                Ok(false) => self.renew_identity(id).await,
                Err(error) => Err(error),
            };
            self.note_renewal(renewed.is_ok());
            if let Err(error) = renewed {
                tracing::warn!(
                    error = ports::error::chain(&error),
                    "the lease of this node cannot be renewed"
                );
            }
        }
        if let Err(error) = self.nodes.delete(self.id()).await {
            tracing::warn!(
                error = ports::error::chain(&error),
                "this node could not sign off"
            );
        }
    }
}
