//! The calls of ports that change agents, conversations and credentials.

use domain::{
    Agent, Conversation, ConversationId, Credential, CredentialId, CredentialKind,
    IdempotencyEntry, Stamp, TenantId, Timestamp,
};
use ports::FirstMessages;

/// A call of `AgentRepository::insert`.
#[derive(Debug, Clone)]
pub struct CreateAgent {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The new agent.
    pub agent: Agent,
    /// The time and the actor.
    pub stamp: Stamp,
    /// The idempotency entry.
    pub idempotency: Option<IdempotencyEntry>,
}

/// A call of `AgentRepository::update`.
#[derive(Debug, Clone)]
pub struct UpdateAgent {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The next version of the agent.
    pub agent: Agent,
    /// The time and the actor.
    pub stamp: Stamp,
}

/// A call of `ConversationRepository::insert`.
#[derive(Debug, Clone)]
pub struct CreateConversation {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The new conversation.
    pub conversation: Conversation,
    /// Its first messages.
    pub first_messages: FirstMessages,
    /// The time and the actor.
    pub stamp: Stamp,
    /// The idempotency entry.
    pub idempotency: Option<IdempotencyEntry>,
}

/// A call of `ConversationRepository::update`.
#[derive(Debug, Clone)]
pub struct UpdateConversation {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The next version of the conversation.
    pub conversation: Conversation,
    /// The time and the actor.
    pub stamp: Stamp,
}

/// A call of `ConversationRepository::delete`.
#[derive(Debug, Clone)]
pub struct DeleteConversation {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The conversation.
    pub id: ConversationId,
    /// The version that the caller expects.
    pub expected: Option<i64>,
    /// The time and the actor.
    pub stamp: Stamp,
}

/// A call of `CredentialRepository::insert`.
#[derive(Debug, Clone)]
pub struct CreateCredential {
    /// The new credential.
    pub credential: Credential,
    /// The idempotency entry.
    pub idempotency: Option<IdempotencyEntry>,
}

/// A call of `CredentialRepository::revoke`.
#[derive(Debug, Clone)]
pub struct RevokeCredential {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The kind of the credential.
    pub kind: CredentialKind,
    /// The credential.
    pub id: CredentialId,
    /// The time of the revocation.
    pub at: Timestamp,
}
