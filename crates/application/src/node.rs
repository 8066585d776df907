//! This process in the store: the lease that says its turns are alive.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use domain::NodeId;
use ports::{IdSource, NodeRepository, RepositoryError};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// How long a lease holds without being renewed.
const LEASE: Duration = Duration::from_secs(10);
/// How often it is renewed.
const RENEWAL: Duration = Duration::from_secs(3);

/// This process in the store, under an id that is new at each start.
pub struct Node {
    nodes: Arc<dyn NodeRepository>,
    ids: Arc<dyn IdSource>,
    id: RwLock<NodeId>,
    renewing: Mutex<()>,
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
            id: RwLock::new(id),
            renewing: Mutex::new(()),
        })
    }

    /// The id under which turns run now.
    pub fn id(&self) -> NodeId {
        *self.id.read().unwrap_or_else(PoisonError::into_inner)
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
        *self.id.write().unwrap_or_else(PoisonError::into_inner) = id;
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
