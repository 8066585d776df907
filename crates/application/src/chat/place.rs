//! Where a question goes: its conversation, its agent, as far as they are known beforehand.

use std::sync::Arc;

use domain::{
    Agent, Conversation, ConversationId, Fault, FaultCode, IdempotencyClaim, MessageId, NodeId,
    Principal, Stamp, Timestamp, TurnId, TurnStarted,
};
use ports::{BeginTurn, ExchangeTarget, ReplyRequest};

use super::{command::ChatCommand, error::ChatError, live_turn::TurnSubject, ports::ChatPorts};
use crate::{ConversationError, conversations::own_user_id};

/// One chat on its way: what was asked, and what is known of where.
#[derive(Clone)]
pub(super) struct Question {
    pub(super) caller: Principal,
    pub(super) command: ChatCommand,
    pub(super) claim: Option<IdempotencyClaim>,
    pub(super) stamp: Stamp,
    pub(super) turn_id: TurnId,
    pub(super) message_id: MessageId,
    /// The conversation that is made when none is named.
    pub(super) new_conversation: ConversationId,
    pub(super) resumption: Resumption,
}

/// Whether the question's key was given back by a turn that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resumption {
    /// Not that it was known.
    None,
    /// By a turn in this conversation: the question goes on there.
    In(ConversationId),
    /// By a turn whose conversation is gone: the question begins a new one.
    Anew,
}

impl Resumption {
    pub(super) const fn is_in_conversation(self) -> bool {
        matches!(self, Self::In(_))
    }
}

impl Question {
    /// The question as it is asked anew, because what it met has changed meanwhile.
    pub(super) fn asked_again(&self, now: Timestamp) -> Self {
        let stamp = Stamp {
            time: now,
            ..self.stamp.clone()
        };
        Self {
            stamp,
            ..self.clone()
        }
    }

    /// The question of a key that was given back.
    pub(super) fn resumed(&self, resumption: Resumption) -> Self {
        Self {
            resumption,
            ..self.clone()
        }
    }

    /// The conversation that it goes on with, if it does not begin one.
    pub(super) const fn conversation_id(&self) -> Option<ConversationId> {
        match (self.command.conversation_id, self.resumption) {
            (Some(named), _) => Some(named),
            (None, Resumption::In(resumed)) => Some(resumed),
            (None, Resumption::None | Resumption::Anew) => None,
        }
    }
}

/// Where a question goes, as far as it was known when it was computed.
pub(super) struct Place {
    pub(super) target: ExchangeTarget,
    pub(super) user_id: Option<String>,
    pub(super) turn_number: i64,
    pub(super) agent: Arc<Agent>,
}

/// Finds out where the question goes and who answers.
pub(super) async fn place(ports: &ChatPorts, question: &Question) -> Result<Place, ChatError> {
    let (caller, command) = (&question.caller, &question.command);
    let Some(id) = question.conversation_id() else {
        let user_id = own_user_id(caller, command.user_id.as_deref())
            .map_err(|foreign| foreign_user(&foreign))?;
        let agent = agent(ports, caller, command).await?;
        let new = Conversation {
            user_id: user_id.clone(),
            ..Conversation::empty(question.new_conversation, agent.id, question.stamp.time)
        };
        return Ok(Place {
            target: ExchangeTarget::New(new),
            user_id,
            turn_number: 0,
            agent,
        });
    };
    let head = ports
        .conversations
        .find_head(&caller.tenant, id)
        .await?
        .value;
    let head = head
        .filter(|head| caller.may_reach(head.user_id.as_deref()))
        .ok_or(ChatError::ConversationNotFound)?;
    let mut faults = Vec::new();
    if head.agent_id != command.agent_id {
        let detail = "the conversation is with another agent";
        faults.push(Fault::new("/agentId", FaultCode::NotCombinable, detail));
    }
    if command.user_id.is_some() && command.user_id != head.user_id {
        let detail = "the conversation belongs to another user";
        faults.push(Fault::new("/userId", FaultCode::NotCombinable, detail));
    }
    if !faults.is_empty() {
        return Err(ChatError::Invalid(faults));
    }
    let agent = agent(ports, caller, command)
        .await
        .map_err(|error| match error {
            // With its agent, a conversation is gone.
            ChatError::AgentNotFound => ChatError::ConversationNotFound,
            other => other,
        })?;
    Ok(Place {
        target: ExchangeTarget::Existing {
            id,
            turn_count: head.turn_count,
        },
        user_id: head.user_id.clone(),
        turn_number: head.turn_count,
        agent,
    })
}

async fn agent(
    ports: &ChatPorts,
    caller: &Principal,
    command: &ChatCommand,
) -> Result<Arc<Agent>, ChatError> {
    let found = ports.agents.find(&caller.tenant, command.agent_id).await?;
    found.value.ok_or(ChatError::AgentNotFound)
}

/// The question as the store is given it.
pub(super) fn begin_turn(question: &Question, place: &Place, node: NodeId) -> BeginTurn {
    BeginTurn {
        tenant: question.caller.tenant.clone(),
        turn_id: question.turn_id,
        message_id: question.message_id,
        target: place.target.clone(),
        agent_id: place.agent.id,
        agent_version: place.agent.version,
        input: question.command.message.clone(),
        metadata: question.command.metadata.clone(),
        stamp: question.stamp.clone(),
        node,
        on_busy: question.command.on_busy,
        claim: question.claim.clone(),
        goes_on: question.resumption != Resumption::None,
    }
}

/// What an engine is asked.
pub(super) fn request(question: &Question, place: &Place) -> ReplyRequest {
    ReplyRequest {
        tenant: question.caller.tenant.clone(),
        agent: Arc::clone(&place.agent),
        turn_id: question.turn_id,
        turn_number: place.turn_number,
        user_id: place.user_id.clone(),
        history: Vec::new(),
        message: question.command.message.clone(),
        tools: Vec::new(),
        unavailable_tools: Vec::new(),
    }
}

/// Which turn the question begins, and whom it concerns.
pub(super) fn subject(question: &Question, place: &Place) -> TurnSubject {
    TurnSubject {
        tenant: question.caller.tenant.clone(),
        turn_id: question.turn_id,
        conversation_id: place.target.id(),
        agent_id: place.agent.id,
        user_id: place.user_id.clone(),
        asker: question.caller.id.clone(),
        request_id: question.command.request_id.clone(),
    }
}

/// What is known of the turn once it has started.
pub(super) fn started_turn(question: &Question, place: &Place) -> TurnStarted {
    TurnStarted {
        turn_id: question.turn_id,
        conversation_id: place.target.id(),
        message_id: question.message_id,
        agent_id: place.agent.id,
        agent_version: place.agent.version,
    }
}

fn foreign_user(foreign: &ConversationError) -> ChatError {
    ChatError::Invalid(vec![Fault::new(
        "/userId",
        FaultCode::NotCombinable,
        foreign.to_string(),
    )])
}
