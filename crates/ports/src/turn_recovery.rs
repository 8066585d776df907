//! Turns without a live node, and turns that waited too long.

use std::time::Duration;

use async_trait::async_trait;
use domain::{ConversationId, NodeId, TenantId, Timestamp, TurnId};

use crate::{Committed, PromotedTurn, RepositoryError};

/// One pass over a tenant's turns. Fails as `interrupted` every turn in progress whose node is marked
/// as dead or unknown; this releases its idempotency key like any retryable failure. Fails as
/// `engine_timeout` turns that were queued for longer than `max_wait`. Promotes the first queued turn
/// of each conversation without a turn in progress, also behind turns that this pass failed, in the
/// order of their `turn.queued` events. The actor of each event is the principal that started the turn.
/// Changes at most `limit` turns; a caller that receives that many calls again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    /// The tenant.
    pub tenant: TenantId,
    /// The node to which queued turns are promoted, if it is alive; `None` while it drains, which
    /// promotes nothing.
    pub node: Option<NodeId>,
    /// The maximum time for which a turn may be queued, by the store's clock.
    pub max_wait: Duration,
    /// The time of the events of this pass.
    pub now: Timestamp,
    /// The maximum number of turns to end or promote.
    pub limit: usize,
}

/// The outcome of a pass.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SweepOutcome {
    /// The positions of its events; `None` if it wrote none.
    pub committed: Option<Committed>,
    /// The turns that it failed.
    pub failed: Vec<TurnId>,
    /// The turns that it promoted: the node of the sweep runs them now.
    pub promoted: Vec<PromotedTurn>,
}

/// The ids by which a turn is found.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TurnAddress {
    /// The tenant.
    pub tenant: TenantId,
    /// The conversation of the turn.
    pub conversation_id: ConversationId,
    /// The turn.
    pub turn_id: TurnId,
}

/// Turns without a live node, and turns that waited too long. Turns that a version of a higher level has marked with it
/// MUST be left to nodes of that level: no method returns them.
#[async_trait]
pub trait TurnRecovery: Send + Sync {
    /// Returns `true` if only one process can open this store, so that all other registered
    /// processes are known to be dead.
    fn is_single_process(&self) -> bool;

    /// Marks processes as dead, but never `own`, and returns the number of newly marked ones. These
    /// are the processes whose lease has expired by the store's clock, and none unless the lease of
    /// `own` is valid. In a store of one process, these are all others. Removes processes that were
    /// marked before and have no turn in progress.
    async fn mark_dead_nodes(&self, own: NodeId) -> Result<u64, RepositoryError>;

    /// Returns the tenants in which [`Sweep`] would have something to do. MUST use one
    /// statement.
    async fn tenants_to_sweep(&self, max_wait: Duration) -> Result<Vec<TenantId>, RepositoryError>;

    /// Returns the turns in progress under a node.
    async fn in_progress_under(&self, node: NodeId) -> Result<Vec<TurnAddress>, RepositoryError>;

    /// Returns the queued turns of all tenants.
    async fn queued(&self) -> Result<Vec<TurnAddress>, RepositoryError>;
}
