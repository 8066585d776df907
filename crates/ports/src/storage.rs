//! All ports of a store together.

use std::sync::Arc;

use crate::{
    AgentRepository, ConversationRepository, CredentialRepository, ErasureRepository, EventLog,
    FeedbackRepository, FileRepository, FollowerRepository, IdempotencyRepository, Maintenance,
    NodeRepository, NoteRepository, SearchIndex, SigningKeyRepository, SweepRepository,
    TenantRepository, TicketRepository, TokenRepository, TurnRepository, UserRepository,
    WriteStore,
};

/// All ports of a store together, as an adapter returns them.
#[derive(Clone)]
pub struct Storage {
    /// The writing of what the core has decided.
    pub writes: Arc<dyn WriteStore>,
    /// Agents.
    pub agents: Arc<dyn AgentRepository>,
    /// Conversations and messages.
    pub conversations: Arc<dyn ConversationRepository>,
    /// Ratings of messages.
    pub feedback: Arc<dyn FeedbackRepository>,
    /// Files of messages, without their contents.
    pub files: Arc<dyn FileRepository>,
    /// Erasures of the data of users.
    pub erasures: Arc<dyn ErasureRepository>,
    /// Followers of the logs.
    pub followers: Arc<dyn FollowerRepository>,
    /// The index of the words in conversations.
    pub search: Arc<dyn SearchIndex>,
    /// Turns.
    pub turns: Arc<dyn TurnRepository>,
    /// Turns without a live node, and turns that waited too long.
    pub sweep: Arc<dyn SweepRepository>,
    /// Idempotency records.
    pub idempotency: Arc<dyn IdempotencyRepository>,
    /// The event log.
    pub events: Arc<dyn EventLog>,
    /// API keys and OAuth clients.
    pub credentials: Arc<dyn CredentialRepository>,
    /// Revoked tokens and used assertions.
    pub tokens: Arc<dyn TokenRepository>,
    /// Tickets for WebSocket connections.
    pub tickets: Arc<dyn TicketRepository>,
    /// Keys that sign tokens.
    pub signing_keys: Arc<dyn SigningKeyRepository>,
    /// Tenants.
    pub tenants: Arc<dyn TenantRepository>,
    /// Notes of staff.
    pub notes: Arc<dyn NoteRepository>,
    /// Users.
    pub users: Arc<dyn UserRepository>,
    /// Running processes.
    pub nodes: Arc<dyn NodeRepository>,
    /// Background maintenance.
    pub maintenance: Arc<dyn Maintenance>,
}
