//! Rows of `agents`.

use domain::{Agent, AgentId, PrincipalId, Seq, TenantId, Timestamp};

/// A row of `agents`, with its rows of `agent_capabilities` and its first one of `agent_versions`.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRow {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The agent.
    pub agent: Agent,
    /// The principal that created it.
    pub actor: PrincipalId,
    /// Its sort key in listings: the position of its `agent.created` event.
    pub sort_seq: Seq,
}

/// The next version of an agent, also a row of `agent_versions`. The version that it replaces is
/// kept there, too, if a process of an earlier build has written that one.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentUpdate {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The agent.
    pub agent: Agent,
    /// The principal that changed it.
    pub actor: PrincipalId,
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
