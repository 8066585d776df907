//! Rows of `agents`.

use domain::{Agent, AgentId, Seq, TenantId, Timestamp};

/// A row of `agents`, with its rows of `agent_capabilities`.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRow {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The agent.
    pub agent: Agent,
    /// Its sort key in listings: the position of its `agent.created` event.
    pub sort_seq: Seq,
}

/// The next version of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentUpdate {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The agent.
    pub agent: Agent,
}

/// An agent that is marked as deleted; its rows of `agent_capabilities` are removed.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentDeletion {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The agent.
    pub id: AgentId,
    /// The time of the deletion.
    pub deleted_at: Timestamp,
}
