//! All ports of a store together.

use std::sync::Arc;

use crate::{
    AgentRepository, ClaimRepository, ConversationRepository, CredentialRepository, EventLog,
    Maintenance, NodeRepository, SigningKeyRepository, TenantRepository, TokenRepository,
    TurnRepository,
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
    /// Idempotency records.
    pub claims: Arc<dyn ClaimRepository>,
    /// The log.
    pub events: Arc<dyn EventLog>,
    /// API keys and OAuth clients.
    pub credentials: Arc<dyn CredentialRepository>,
    /// Revoked tokens and used assertions.
    pub tokens: Arc<dyn TokenRepository>,
    /// Keys that sign tokens.
    pub signing_keys: Arc<dyn SigningKeyRepository>,
    /// Tenants.
    pub tenants: Arc<dyn TenantRepository>,
    /// Running processes.
    pub nodes: Arc<dyn NodeRepository>,
    /// Upkeep.
    pub maintenance: Arc<dyn Maintenance>,
}
