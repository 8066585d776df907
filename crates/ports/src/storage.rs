//! All ports of a store together.

use std::sync::Arc;

use crate::{
    AgentRepository, ConversationRepository, EventLog, KeyRepository, Maintenance, NodeRepository,
    TenantRepository, TurnRepository,
};

/// All ports of a store together, as an adapter hands them over.
#[derive(Clone)]
pub struct Storage {
    /// Agents.
    pub agents: Arc<dyn AgentRepository>,
    /// Conversations and messages.
    pub conversations: Arc<dyn ConversationRepository>,
    /// Turns.
    pub turns: Arc<dyn TurnRepository>,
    /// The log.
    pub events: Arc<dyn EventLog>,
    /// API keys.
    pub keys: Arc<dyn KeyRepository>,
    /// Tenants.
    pub tenants: Arc<dyn TenantRepository>,
    /// Running processes.
    pub nodes: Arc<dyn NodeRepository>,
    /// Upkeep.
    pub maintenance: Arc<dyn Maintenance>,
}
