//! A chat attempt and the conversation and agent that it is for.

use std::sync::Arc;

use domain::{
    Agent, Conversation, ConversationId, FaultCode, IdempotencyEntry, InputFault, MessageId,
    NodeId, Principal, Stamp, Timestamp, TurnId, TurnStarted,
};
use ports::{BeginTurn, ConversationTarget, ReplyRequest};

use super::{
    ChatPorts,
    command::{ChatCommand, ChatError},
    live_turns::TurnSubject,
};
use crate::{ConversationError, conversations::own_user_id};

/// A message on its way to its turn.
#[derive(Clone)]
pub(super) struct ChatAttempt {
    pub(super) caller: Principal,
    pub(super) command: ChatCommand,
    /// The idempotency key, and what is stored with it.
    pub(super) idempotency: Option<IdempotencyEntry>,
    pub(super) stamp: Stamp,
    pub(super) turn_id: TurnId,
    pub(super) message_id: MessageId,
    /// The id of the conversation that is created if the command names none.
    pub(super) new_conversation: ConversationId,
    pub(super) resumption: Resumption,
}

/// The conversation of an attempt whose idempotency key was released by a failed turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resumption {
    /// The key is not known to be released.
    None,
    /// The failed turn is in this conversation.
    ContinueIn(ConversationId),
    /// The conversation of the failed turn is deleted.
    RestartInNewConversation,
}

impl Resumption {
    pub(super) const fn is_in_conversation(self) -> bool {
        matches!(self, Self::ContinueIn(_))
    }
}

/// The conversation and the agent of an attempt, as they were when the attempt was resolved.
pub(super) struct ChatTarget {
    pub(super) conversation: ConversationTarget,
    pub(super) user_id: Option<String>,
    pub(super) turn_number: i64,
    pub(super) agent: Arc<Agent>,
}

impl ChatAttempt {
    /// Returns the attempt with the current time, after a conflict.
    pub(super) fn restamped(&self, now: Timestamp) -> Self {
        let stamp = Stamp {
            time: now,
            ..self.stamp.clone()
        };
        Self {
            stamp,
            ..self.clone()
        }
    }

    /// Returns the attempt with a key that was released.
    pub(super) fn resumed(&self, resumption: Resumption) -> Self {
        Self {
            resumption,
            ..self.clone()
        }
    }

    /// Returns the existing conversation that it continues, if any.
    pub(super) const fn conversation_id(&self) -> Option<ConversationId> {
        match (self.command.conversation_id, self.resumption) {
            (Some(named), _) => Some(named),
            (None, Resumption::ContinueIn(resumed)) => Some(resumed),
            (None, Resumption::None | Resumption::RestartInNewConversation) => None,
        }
    }

    /// Returns the write that starts or queues the turn.
    pub(super) fn begin_turn(&self, target: &ChatTarget, node: NodeId) -> BeginTurn {
        BeginTurn {
            tenant: self.caller.tenant.clone(),
            turn_id: self.turn_id,
            message_id: self.message_id,
            target: target.conversation.clone(),
            agent_id: target.agent.id,
            agent_version: target.agent.version,
            input: self.command.message.clone(),
            metadata: self.command.metadata.clone(),
            stamp: self.stamp.clone(),
            node,
            on_busy: self.command.on_busy,
            idempotency: self.idempotency.clone(),
            is_resumption: self.resumption != Resumption::None,
        }
    }

    /// Returns the request to an engine, without history and tools.
    pub(super) fn reply_request(&self, target: &ChatTarget) -> ReplyRequest {
        ReplyRequest {
            tenant: self.caller.tenant.clone(),
            agent: Arc::clone(&target.agent),
            turn_id: self.turn_id,
            turn_number: target.turn_number,
            user_id: target.user_id.clone(),
            history: Vec::new(),
            message: self.command.message.clone(),
            tools: Vec::new(),
            unavailable_tools: Vec::new(),
        }
    }

    /// Returns the ids under which the live turn is registered.
    pub(super) fn turn_subject(&self, target: &ChatTarget) -> TurnSubject {
        TurnSubject {
            tenant: self.caller.tenant.clone(),
            turn_id: self.turn_id,
            conversation_id: target.conversation.id(),
            agent_id: target.agent.id,
            user_id: target.user_id.clone(),
            started_by: self.caller.id.clone(),
            request_id: self.command.request_id.clone(),
        }
    }

    /// Returns the content of the turn's `turn.started` event.
    pub(super) fn turn_started(&self, target: &ChatTarget) -> TurnStarted {
        TurnStarted {
            turn_id: self.turn_id,
            conversation_id: target.conversation.id(),
            message_id: self.message_id,
            agent_id: target.agent.id,
            agent_version: target.agent.version,
        }
    }
}

/// Finds the conversation and the agent of an attempt.
pub(super) async fn resolve_target(
    ports: &ChatPorts,
    attempt: &ChatAttempt,
) -> Result<ChatTarget, ChatError> {
    let Some(id) = attempt.conversation_id() else {
        return new_target(ports, attempt).await;
    };
    let (caller, command) = (&attempt.caller, &attempt.command);
    let found = ports.conversations.find_context(&caller.tenant, id).await?;
    let conversation = found
        .value
        .filter(|found| caller.may_reach(found.user_id.as_deref()))
        .ok_or(ChatError::ConversationNotFound)?;
    let mut faults = Vec::new();
    if conversation.agent_id != command.agent_id {
        let detail = "the conversation is with another agent";
        faults.push(InputFault::new(
            "/agentId",
            FaultCode::NotCombinable,
            detail,
        ));
    }
    if command.user_id.is_some() && command.user_id != conversation.user_id {
        let detail = "the conversation belongs to another user";
        faults.push(InputFault::new("/userId", FaultCode::NotCombinable, detail));
    }
    if !faults.is_empty() {
        return Err(ChatError::Invalid(faults));
    }
    let agent = find_agent(ports, attempt).await;
    let agent = agent.map_err(|error| match error {
        // A conversation is deleted with its agent.
        ChatError::AgentNotFound => ChatError::ConversationNotFound,
        other => other,
    })?;
    Ok(ChatTarget {
        conversation: ConversationTarget::Existing {
            id,
            turn_count: conversation.turn_count,
        },
        user_id: conversation.user_id.clone(),
        turn_number: conversation.turn_count,
        agent,
    })
}

/// Returns the target of an attempt that creates its conversation.
async fn new_target(ports: &ChatPorts, attempt: &ChatAttempt) -> Result<ChatTarget, ChatError> {
    let user_id = own_user_id(&attempt.caller, attempt.command.user_id.as_deref())
        .map_err(|rejected| user_fault(&rejected))?;
    let agent = find_agent(ports, attempt).await?;
    let new = Conversation {
        user_id: user_id.clone(),
        ..Conversation::empty(attempt.new_conversation, agent.id, attempt.stamp.time)
    };
    Ok(ChatTarget {
        conversation: ConversationTarget::New(new),
        user_id,
        turn_number: 0,
        agent,
    })
}

async fn find_agent(ports: &ChatPorts, attempt: &ChatAttempt) -> Result<Arc<Agent>, ChatError> {
    let (tenant, id) = (&attempt.caller.tenant, attempt.command.agent_id);
    let found = ports.agents.find(tenant, id).await?;
    found.value.ok_or(ChatError::AgentNotFound)
}

fn user_fault(rejected: &ConversationError) -> ChatError {
    ChatError::Invalid(vec![InputFault::new(
        "/userId",
        FaultCode::NotCombinable,
        rejected.to_string(),
    )])
}
