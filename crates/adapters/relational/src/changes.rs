//! The calls of ports that create agents and conversations.

use domain::{Agent, Conversation, IdempotencyEntry, Message, Stamp, TenantId};

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

/// A call of `ConversationRepository::insert`.
#[derive(Debug, Clone)]
pub struct CreateConversation {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The new conversation.
    pub conversation: Conversation,
    /// Its first message.
    pub greeting: Option<Message>,
    /// The time and the actor.
    pub stamp: Stamp,
    /// The idempotency claim.
    pub idempotency: Option<IdempotencyEntry>,
}
