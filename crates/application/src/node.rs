//! The node of this process in the store: its lease proves that its turns are alive.

use std::{sync::Arc, time::Duration};

use domain::{LEVEL, NodeId, RegionName};
use futures::StreamExt as _;
use parking_lot::RwLock;
use ports::{
    EventBus, FarNodeReport, IdSource, LiveNode, LiveNodes, Membership, NodeProcess,
    NodeRepository, RepositoryError, Signal,
};
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
/// The maximum number of waiting signals that lead to one renewal.
const MAX_SIGNALS: usize = 1_024;

/// The node of this process in the store, with an id that is new at each start.
pub struct Node {
    nodes: Arc<dyn NodeRepository>,
    ids: Arc<dyn IdSource>,
    bus: Arc<dyn EventBus>,
    version: String,
    started: Instant,
    id: watch::Sender<NodeId>,
    membership: watch::Sender<Membership>,
    renewed_at: RwLock<Instant>,
    /// Held from a call of the store until its result is applied, so that results are applied in their
    /// order.
    renewing: Mutex<()>,
    /// `None` if the last renewal failed.
    streak: RwLock<Option<RenewalStreak>>,
}

/// A live node, as this node sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeStatus {
    /// The node.
    pub node: LiveNode,
    /// True for this node.
    pub is_own: bool,
    /// The time since the last renewal of its lease, by the store's clock.
    pub renewed_ago: Duration,
}

/// A series of successful renewals without a gap.
#[derive(Debug, Clone, Copy)]
struct RenewalStreak {
    first: Instant,
    last: Instant,
}

impl Node {
    /// Registers this process, of this version of the program, in the store, and informs the other
    /// nodes. If the store is unavailable, as while it is read-only, the first renewal of the lease
    /// registers the process.
    pub async fn register(
        nodes: Arc<dyn NodeRepository>,
        ids: Arc<dyn IdSource>,
        bus: Arc<dyn EventBus>,
        version: &str,
    ) -> Result<Self, RepositoryError> {
        let id = NodeId::new(ids.next_id());
        let process = NodeProcess {
            version: version.to_owned(),
            running_for: Duration::ZERO,
            level: LEVEL,
        };
        let live = match nodes.insert(id, &process, LEASE).await {
            Ok(live) => Some(live),
            Err(error @ RepositoryError::Unavailable(_)) => {
                let error = ports::error::one_line(&error);
                tracing::warn!(error, "cannot register the node; retrying");
                None
            }
            Err(error) => return Err(error),
        };
        bus.publish(Signal::NodeJoined);
        let membership = Membership {
            node: id,
            // Until the store is read, other nodes may be of any level.
            live: live.unwrap_or(LiveNodes {
                count: 1,
                lowest_level: 0,
            }),
        };
        report(membership);
        Ok(Self {
            nodes,
            ids,
            bus,
            version: process.version,
            started: Instant::now(),
            id: watch::Sender::new(id),
            membership: watch::Sender::new(membership),
            renewed_at: RwLock::new(Instant::now()),
            renewing: Mutex::new(()),
            streak: RwLock::new(live.map(|_| RenewalStreak::begin())),
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

    /// Subscribes to the number and the lowest level of the live nodes, and to the id.
    pub fn watch_membership(&self) -> watch::Receiver<Membership> {
        self.membership.subscribe()
    }

    /// Records the report of a node of a far region. Such nodes report as often as others renew
    /// their leases.
    pub async fn report_far(
        &self,
        region: &RegionName,
        report: &FarNodeReport,
    ) -> Result<(), RepositoryError> {
        self.nodes.report_far(region, report, LEASE).await
    }

    /// Returns all live nodes, also those of far regions.
    pub async fn list(&self) -> Result<Vec<NodeStatus>, RepositoryError> {
        let own = self.id();
        let nodes = self.nodes.list().await?;
        let status = |node: LiveNode| NodeStatus {
            is_own: node.id == own,
            renewed_ago: LEASE.saturating_sub(node.lease_left),
            node,
        };
        Ok(nodes.into_iter().map(status).collect())
    }

    /// Returns the time since the last renewal of the lease.
    pub fn lease_age(&self) -> Duration {
        self.renewed_at.read().elapsed()
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
        let _lock = self.renewing.lock().await;
        if self.id() != dead {
            return Ok(());
        }
        self.replace_identity(dead).await
    }

    async fn replace_identity(&self, dead: NodeId) -> Result<(), RepositoryError> {
        let id = NodeId::new(self.ids.next_id());
        let process = NodeProcess {
            version: self.version.clone(),
            running_for: self.started.elapsed(),
            level: LEVEL,
        };
        let live = self.nodes.insert(id, &process, LEASE).await?;
        tracing::warn!(
            before = %dead,
            now = %id,
            "the lease of the node had expired or was not stored; this process continues under a new \
             node id"
        );
        self.id.send_replace(id);
        self.set_membership(id, live);
        self.bus.publish(Signal::NodeJoined);
        Ok(())
    }

    /// Renews the lease and returns whether it was still valid. If it was not, this process
    /// registers a new id.
    async fn renew(&self) -> Result<bool, RepositoryError> {
        let _lock = self.renewing.lock().await;
        let id = self.id();
        let live = self.nodes.renew(id, LEASE).await?;
        match live {
            Some(live) => self.set_membership(id, live),
            None => self.replace_identity(id).await?,
        }
        Ok(live.is_some())
    }

    fn set_membership(&self, node: NodeId, live: LiveNodes) {
        let membership = Membership { node, live };
        report(membership);
        *self.renewed_at.write() = Instant::now();
        self.membership.send_if_modified(|known| {
            let before = std::mem::replace(known, membership);
            before != membership
        });
    }

    /// Renews the lease each time that another node has joined, or that the signal of it may have been
    /// lost, so that the number of live nodes is known at once. Ends with the bus.
    pub fn renew_on_join(self: Arc<Self>) -> impl Future<Output = ()> + Send {
        let may_have_joined =
            |signal: &Signal| matches!(signal, Signal::NodeJoined | Signal::SignalsLost);
        let signals = self.bus.subscribe(Box::new(may_have_joined));
        let mut signals = signals.ready_chunks(MAX_SIGNALS);
        async move {
            while signals.next().await.is_some() {
                if let Some(Err(error)) = round(self.renew()).await {
                    let error = ports::error::one_line(&error);
                    tracing::debug!(error, "cannot renew the node lease");
                }
            }
        }
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

/// Publishes the number of nodes and their lowest level, after each renewal.
fn report(membership: Membership) {
    metrics::gauge!("live_nodes").set(membership.live.count);
    metrics::gauge!("lowest_node_level").set(membership.live.lowest_level);
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
pub(crate) mod tests;
