//! Rows of `usage_entries`.

use domain::{
    AgentId, ConversationId, PrincipalId, RequestUsage, TenantId, Timestamp, TurnId, UsageKind,
};

/// A row of `usage_entries`. It is written once: a row of the same turn and kind with the same number stays.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageRow {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The turn, or the turn after which the request was made.
    pub turn_id: TurnId,
    /// The purpose of the request.
    pub kind: UsageKind,
    /// The agent.
    pub agent_id: AgentId,
    /// The version of the agent.
    pub agent_version: Option<i64>,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The user that the conversation belongs to.
    pub user_id: Option<String>,
    /// The principal for which the request was made: the one that sent the message, or the service.
    pub principal: PrincipalId,
    /// The request.
    pub request: RequestUsage,
    /// The time of the write.
    pub at: Timestamp,
}
