//! Turns that nobody runs any more, and turns that waited too long.

use std::time::Duration;

use async_trait::async_trait;
use domain::{ConversationId, NodeId, Problem, Stamp, TenantId, Timestamp, TurnId};

use crate::{Committed, PromotedTurn, RepositoryError};

/// One pass over a tenant's turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    /// Whose turns.
    pub tenant: TenantId,
    /// The process to which turns that wait are promoted, if it is alive; a draining one promotes
    /// nothing.
    pub node: Option<NodeId>,
    /// How long a turn may wait, by the store's clock.
    pub longest_wait: Duration,
    /// The time that the events of this pass carry.
    pub now: Timestamp,
    /// Turns that are ended or promoted at most.
    pub limit: usize,
}

/// What a pass has done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Swept {
    /// Positions of its events; none when there was nothing to do.
    pub committed: Option<Committed>,
    /// Turns that it failed.
    pub failed: Vec<TurnId>,
    /// Turns that wait no more: the node of the sweep runs them.
    pub promoted: Vec<PromotedTurn>,
}

/// Which turn of whom.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TurnAddress {
    /// Whose data.
    pub tenant: TenantId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// The turn.
    pub turn_id: TurnId,
}

/// Turns that nobody runs any more, and turns that waited too long. The turns' principals stand
/// as actors in the events: it is their turns that end.
#[async_trait]
pub trait TurnRecovery: Send + Sync {
    /// Whether only one process can open this store, so that all others are known to be dead.
    fn is_of_one_process(&self) -> bool;

    /// Marks processes as dead, but never `own`: those whose lease has run out by the store's
    /// clock, and none unless that of `own` holds; in a store of one process, all. Answers how many it marked. Forgets those that were
    /// marked before and have no turn in progress.
    async fn mark_dead_nodes(&self, own: NodeId) -> Result<u64, RepositoryError>;

    /// The tenants in which [`Self::sweep`] would find something, in one statement.
    async fn tenants_to_sweep(
        &self,
        longest_wait: Duration,
    ) -> Result<Vec<TenantId>, RepositoryError>;

    /// One transaction under the tenant's lock. MUST fail as `interrupted` every turn in progress
    /// whose process is marked as dead or unknown (releasing its idempotency key, as any
    /// retryable failure does); MUST fail as `engine_timeout` turns that have waited for longer
    /// than `longest_wait`; MUST promote the first turn that waits wherever none is in progress,
    /// also behind those that it failed, in the order of their `turn.queued` events. Touches at
    /// most `limit` turns; whoever gets that many back calls again.
    async fn sweep(&self, sweep: &Sweep) -> Result<Swept, RepositoryError>;

    /// The turns in progress under a process.
    async fn in_progress_under(&self, node: NodeId) -> Result<Vec<TurnAddress>, RepositoryError>;

    /// The turns that wait, of all tenants.
    async fn waiting(&self) -> Result<Vec<TurnAddress>, RepositoryError>;

    /// Fails a turn that waits, with `turn.failed`. `None` and nothing written when it does not
    /// wait (any more).
    async fn fail_queued(
        &self,
        tenant: &TenantId,
        id: TurnId,
        problem: &Problem,
        stamp: &Stamp,
    ) -> Result<Option<Committed>, RepositoryError>;
}
