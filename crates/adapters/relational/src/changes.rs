//! The calls of ports that create agents.

use domain::{Agent, IdempotencyEntry, Stamp, TenantId};

/// A call of `AgentRepository::insert`.
#[derive(Debug, Clone)]
pub struct CreateAgent {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The new agent.
    pub agent: Agent,
    /// The time and the actor.
    pub stamp: Stamp,
    /// The idempotency claim.
    pub idempotency: Option<IdempotencyEntry>,
}
