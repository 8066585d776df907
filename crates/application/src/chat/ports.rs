//! The ports that chat uses.

use std::sync::Arc;

use ports::{
    AgentRepository, ClaimRepository, Clock, ConversationRepository, IdSource, TurnRepository,
};

/// What chat needs from outside.
#[derive(Clone)]
pub struct ChatPorts {
    /// Agents, from memory where possible.
    pub agents: Arc<dyn AgentRepository>,
    /// Conversations, their heads from memory where possible.
    pub conversations: Arc<dyn ConversationRepository>,
    /// Turns.
    pub turns: Arc<dyn TurnRepository>,
    /// Idempotency records.
    pub claims: Arc<dyn ClaimRepository>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Arc<dyn IdSource>,
}
