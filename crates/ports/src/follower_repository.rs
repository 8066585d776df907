//! Followers of the logs in a store.

use async_trait::async_trait;
use domain::{ConversationId, NodeId, Seq, TenantId};

use crate::RepositoryError;

/// The position of a follower in the log of a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowerPosition {
    /// The last event whose effect has happened.
    pub seq: Seq,
    /// While what was there before the follower's first event is read, in the order of the ids of conversations:
    /// the last one that was read.
    pub backfilled_to: Option<ConversationId>,
}

impl FollowerPosition {
    /// Returns the position after an event, without anything left to read from before the follower's first event.
    pub const fn at(seq: Seq) -> Self {
        Self {
            seq,
            backfilled_to: None,
        }
    }
}

/// A step of a follower in the log of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowerStep {
    /// The tenant.
    pub tenant: TenantId,
    /// The position before the step; `None` at the first one.
    pub from: Option<FollowerPosition>,
    /// The position after it.
    pub to: FollowerPosition,
}

impl FollowerStep {
    /// Creates a step in the log of a tenant.
    pub fn new(tenant: &TenantId, from: Option<FollowerPosition>, to: FollowerPosition) -> Self {
        Self {
            tenant: tenant.clone(),
            from,
            to,
        }
    }
}

/// The followers of the logs, of which one node each runs.
#[async_trait]
pub trait FollowerRepository: Send + Sync {
    /// Makes a node run a follower, unless another node with a valid lease does. Returns whether the node runs it.
    async fn claim(&self, follower: &str, node: NodeId) -> Result<bool, RepositoryError>;

    /// Returns the positions of a follower in the logs of all tenants in which it has begun.
    async fn positions(
        &self,
        follower: &str,
    ) -> Result<Vec<(TenantId, FollowerPosition)>, RepositoryError>;

    /// Moves the position of a follower if it is the one before the step. Returns whether it was. MUST NOT wait for
    /// the lock of the tenant.
    async fn advance(&self, follower: &str, step: &FollowerStep) -> Result<bool, RepositoryError>;
}
