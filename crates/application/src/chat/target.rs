//! A chat attempt and the conversation and agent that it is for.

use std::sync::Arc;

use domain::{
    Agent, AgentId, Conversation, ConversationContext, ConversationId, FaultCode, IdempotencyEntry,
    InputFault, Message, MessageId, NodeId, Principal, Role, Stamp, Timestamp, TurnId, TurnStarted,
};
use ports::{
    AnsweredMessage, BeginTurn, ConversationName, ConversationTarget, MessageReference,
    ReplyRequest, Supersession,
};

use super::{
    ChatPorts,
    command::{ChatCommand, ChatError},
    live_turns::TurnSubject,
};
use crate::conversations::own_user_id;

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
    /// The id that the agent's message gets.
    pub(super) reply_id: MessageId,
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
    pub(super) replacement: Option<Replacement>,
}

/// The messages that an attempt supersedes.
pub(super) struct Replacement {
    supersession: Supersession,
    /// The stored user message that is answered again.
    answered: Option<Message>,
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

    /// Returns the newest message of the user, if it is this one and to be superseded. If the turn
    /// of this message has failed, the message is not superseded: it is answered at last.
    fn sent_before(&self, conversation: &ConversationContext) -> Option<MessageId> {
        let sent = self.command.client_message_id.as_deref()?;
        let newest = conversation.newest_message.as_ref()?;
        let is_repeated = newest.client_id.as_deref() == Some(sent)
            && self.command.supersedes_itself
            && self.resumption == Resumption::None;
        is_repeated.then_some(newest.id)
    }

    /// Returns the write that starts or queues the turn.
    pub(super) fn begin_turn(&self, target: &ChatTarget, node: NodeId) -> BeginTurn {
        BeginTurn {
            tenant: self.caller.tenant.clone(),
            turn_id: self.turn_id,
            message_id: self.message_id,
            reply_id: self.reply_id,
            client_message_id: self.client_message_id(target),
            supersession: target.replacement.as_ref().map(|it| it.supersession),
            target: target.conversation.clone(),
            agent_id: target.agent.id,
            agent_version: target.agent.version,
            input: self.input(target).to_owned(),
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
            message: self.input(target).to_owned(),
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
            is_ephemeral: false,
        }
    }

    /// Returns the user's text.
    fn input<'a>(&'a self, target: &'a ChatTarget) -> &'a str {
        let answered = target
            .replacement
            .as_ref()
            .and_then(|it| it.answered.as_ref());
        let stored = answered.map(|message| message.content.as_str());
        stored
            .or(self.command.message.as_deref())
            .unwrap_or_default()
    }

    /// Returns the client's own id of the user's message.
    fn client_message_id(&self, target: &ChatTarget) -> Option<String> {
        let answered = target
            .replacement
            .as_ref()
            .and_then(|it| it.answered.as_ref());
        match answered {
            Some(message) => message.client_message_id.clone(),
            None => self.command.client_message_id.clone(),
        }
    }

    /// Returns the content of the turn's `turn.started` event. `message_id` is the user's message.
    pub(super) fn turn_started(&self, target: &ChatTarget, message_id: MessageId) -> TurnStarted {
        TurnStarted {
            turn_id: self.turn_id,
            conversation_id: Some(target.conversation.id()),
            message_id,
            reply_id: self.reply_id,
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
    let Some(id) = find_conversation(ports, attempt).await? else {
        return new_target(ports, attempt).await;
    };
    let (caller, command) = (&attempt.caller, &attempt.command);
    let found = ports.conversations.find_context(&caller.tenant, id).await?;
    let conversation = found
        .value
        .filter(|found| caller.may_reach(found.user_id.as_deref()))
        .ok_or(ChatError::ConversationNotFound)?;
    let mut faults = Vec::new();
    if command
        .agent_id
        .is_some_and(|named| named != conversation.agent_id)
    {
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
    let agent = find_agent(ports, caller, conversation.agent_id).await;
    let agent = agent.map_err(|error| match error {
        // A conversation is deleted with its agent.
        ChatError::AgentNotFound => ChatError::ConversationNotFound,
        other => other,
    })?;
    let superseded = command
        .supersedes
        .or_else(|| attempt.sent_before(&conversation));
    let replacement = match superseded {
        Some(message) => Some(find_replacement(ports, attempt, id, message).await?),
        None => None,
    };
    Ok(ChatTarget {
        replacement,
        conversation: ConversationTarget::Existing {
            id,
            turn_count: conversation.turn_count,
        },
        user_id: conversation.user_id.clone(),
        turn_number: conversation.turn_count,
        agent,
    })
}

/// Returns the existing conversation that an attempt continues, by its id or its name.
async fn find_conversation(
    ports: &ChatPorts,
    attempt: &ChatAttempt,
) -> Result<Option<ConversationId>, ChatError> {
    let command = &attempt.command;
    let (Some(key), Some(agent_id)) = (&command.conversation_key, command.agent_id) else {
        return Ok(attempt.conversation_id());
    };
    let name = ConversationName {
        agent_id,
        user_id: own_user(attempt).map_err(ChatError::Invalid)?,
        key: key.clone(),
    };
    let tenant = &attempt.caller.tenant;
    Ok(ports.conversations.find_by_name(tenant, &name).await?)
}

/// Finds the messages that an attempt supersedes.
async fn find_replacement(
    ports: &ChatPorts,
    attempt: &ChatAttempt,
    conversation: ConversationId,
    message: MessageId,
) -> Result<Replacement, ChatError> {
    let tenant = &attempt.caller.tenant;
    let reference = MessageReference::Id(message);
    let found = ports
        .conversations
        .find_message(tenant, conversation, &reference);
    let Some(found) = found.await? else {
        return Err(fault(
            "/supersedes",
            FaultCode::UnknownValue,
            "no message of the conversation",
        ));
    };
    if found.message.superseded_at.is_some() {
        return Err(ChatError::MessageSuperseded);
    }
    let has_text = attempt.command.message.is_some();
    let answered = match found.message.role {
        Role::User if has_text => None,
        Role::User => {
            let detail = "required to replace a user's message";
            return Err(fault("/message", FaultCode::Required, detail));
        }
        Role::Agent if has_text => {
            let detail = "must be absent to replace an agent's message";
            return Err(fault("/message", FaultCode::NotCombinable, detail));
        }
        Role::Agent => {
            let answered = found.previous.filter(|it| it.role == Role::User);
            let greeting = || {
                let detail = "a greeting cannot be superseded";
                fault("/supersedes", FaultCode::NotCombinable, detail)
            };
            Some(answered.ok_or_else(greeting)?)
        }
    };
    Ok(Replacement {
        supersession: Supersession {
            from_seq: found.message.seq,
            kept: found.before,
            answered: answered.as_ref().map(|message| AnsweredMessage {
                id: message.id,
                seq: message.seq,
            }),
        },
        answered,
    })
}

/// Returns the target of an attempt that creates its conversation.
async fn new_target(ports: &ChatPorts, attempt: &ChatAttempt) -> Result<ChatTarget, ChatError> {
    let (caller, command) = (&attempt.caller, &attempt.command);
    if command.supersedes.is_some() {
        return Err(fault(
            "/supersedes",
            FaultCode::UnknownValue,
            "no message of the conversation",
        ));
    }
    let user_id = own_user(attempt).map_err(ChatError::Invalid)?;
    let agent_id = command.agent_id.ok_or(ChatError::AgentNotFound)?;
    let agent = find_agent(ports, caller, agent_id).await?;
    let new = Conversation {
        user_id: user_id.clone(),
        key: command.conversation_key.clone(),
        title: command.title.clone(),
        ..Conversation::empty(attempt.new_conversation, agent.id, attempt.stamp.time)
    };
    Ok(ChatTarget {
        conversation: ConversationTarget::New(new),
        user_id,
        turn_number: 0,
        agent,
        replacement: None,
    })
}

pub(super) async fn find_agent(
    ports: &ChatPorts,
    caller: &Principal,
    id: AgentId,
) -> Result<Arc<Agent>, ChatError> {
    let found = ports.agents.find(&caller.tenant, id).await?;
    found.value.ok_or(ChatError::AgentNotFound)
}

/// Returns the user of a new or named conversation.
fn own_user(attempt: &ChatAttempt) -> Result<Option<String>, Vec<InputFault>> {
    let user = own_user_id(&attempt.caller, attempt.command.user_id.as_deref());
    user.map_err(|rejected| {
        let detail = rejected.to_string();
        vec![InputFault::new("/userId", FaultCode::NotCombinable, detail)]
    })
}

fn fault(pointer: &str, code: FaultCode, detail: &str) -> ChatError {
    ChatError::Invalid(vec![InputFault::new(pointer, code, detail)])
}
