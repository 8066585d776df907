//! The conversation and the agent of a chat attempt.

use std::sync::Arc;

use domain::{
    Agent, AgentId, ClientTool, Conversation, ConversationId, ConversationState, FaultCode,
    FileReference, InputFault, Message, MessageId, Principal, ResponseSchema, Role, TenantId,
    TitleSource,
};
use ports::{ConversationName, FoundMessage, MessageReference};
use writes::{AnsweredMessage, ConversationTarget, Supersession};

use super::{
    attempt::ChatAttempt,
    command::{ChatCommand, ChatError},
};
use crate::{agents::find_reachable, cache::CachedPorts, conversations::own_user_id};

/// The conversation and the agent of an attempt, as they were when the attempt was resolved.
pub(super) struct ChatTarget {
    pub(super) conversation: ConversationTarget,
    pub(super) user_id: Option<String>,
    pub(super) turn_number: i64,
    pub(super) agent: Arc<Agent>,
    pub(super) superseded: Option<SupersededMessages>,
    /// The files of the message.
    pub(super) files: Vec<FileReference>,
    /// The tools that the client may add to the turn.
    pub(super) client_tools: Vec<ClientTool>,
    /// The schema that came with the message, or with the one that it supersedes.
    pub(super) response_schema: Option<ResponseSchema>,
}

/// The messages that an attempt supersedes.
pub(super) struct SupersededMessages {
    pub(super) supersession: Supersession,
    /// The stored user message that is answered again.
    answered: Option<Message>,
    /// The schema that came with the turn of the first of them.
    response_schema: Option<ResponseSchema>,
}

impl ChatTarget {
    /// Returns the stored user message that is answered again, if any.
    pub(super) fn answered(&self) -> Option<&Message> {
        self.superseded.as_ref()?.answered.as_ref()
    }
}

/// Finds the conversation and the agent of an attempt.
pub(super) async fn resolve_target(
    ports: &CachedPorts,
    attempt: &ChatAttempt,
) -> Result<ChatTarget, ChatError> {
    let Some(id) = find_conversation(ports, attempt).await? else {
        return new_target(ports, attempt).await;
    };
    let caller = &attempt.caller;
    let found = ports.conversations.find_state(&caller.tenant, id).await?;
    let conversation = found
        .value
        .filter(|found| caller.may_reach(found.user_id.as_deref(), found.agent_id))
        .ok_or(ChatError::ConversationNotFound)?;
    check_named(&attempt.command, &conversation).map_err(ChatError::Invalid)?;
    let agent = find_agent(ports, caller, conversation.agent_id).await;
    let agent = agent.map_err(|error| match error {
        // A conversation is deleted with its agent. A command with a key names the agent itself.
        ChatError::AgentNotFound if attempt.command.conversation_key.is_none() => {
            ChatError::ConversationNotFound
        }
        other => other,
    })?;
    let superseded = match first_superseded(ports, attempt, &conversation).await? {
        Some(message) => find_superseded(ports, attempt, id, message).await?,
        None => None,
    };
    let response_schema = attempt.command.response_schema.clone();
    let before = superseded
        .as_ref()
        .and_then(|it| it.response_schema.clone());
    Ok(ChatTarget {
        response_schema: response_schema.or(before),
        superseded,
        conversation: ConversationTarget::Existing {
            id,
            turn_count: conversation.turn_count,
        },
        user_id: conversation.user_id.clone(),
        turn_number: conversation.turn_count,
        agent,
        files: Vec::new(),
        client_tools: Vec::new(),
    })
}

/// Checks that a conversation has the agent and the user that a command names.
fn check_named(
    command: &ChatCommand,
    conversation: &ConversationState,
) -> Result<(), Vec<InputFault>> {
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
    if faults.is_empty() {
        return Ok(());
    }
    Err(faults)
}

/// Returns the existing conversation that an attempt continues, by its id or its name.
async fn find_conversation(
    ports: &CachedPorts,
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

/// Returns the first message that an attempt supersedes: the named one, or the message itself if it
/// was sent before.
async fn first_superseded(
    ports: &CachedPorts,
    attempt: &ChatAttempt,
    conversation: &ConversationState,
) -> Result<Option<MessageId>, ChatError> {
    if let Some(named) = attempt.command.supersedes {
        return Ok(Some(named));
    }
    let Some(sent) = attempt.sent_before(conversation) else {
        return Ok(None);
    };
    // A retry of a failed turn answers the message that the turn has stored.
    let is_retry = repeats_failed_turn(ports, attempt).await?;
    Ok((!is_retry).then_some(sent))
}

/// Returns true if a failed turn has released the idempotency key of an attempt.
async fn repeats_failed_turn(
    ports: &CachedPorts,
    attempt: &ChatAttempt,
) -> Result<bool, ChatError> {
    let Some(entry) = &attempt.idempotency else {
        return Ok(false);
    };
    let record = ports
        .idempotency
        .find(&attempt.caller.tenant, entry)
        .await?;
    Ok(record.is_some_and(|record| record.released_into.is_some()))
}

/// Finds the messages that an attempt supersedes. Returns `None` if the message was not sent before:
/// that of another principal, to which the caller may not refer, only has the same id.
async fn find_superseded(
    ports: &CachedPorts,
    attempt: &ChatAttempt,
    conversation: ConversationId,
    message: MessageId,
) -> Result<Option<SupersededMessages>, ChatError> {
    let tenant = &attempt.caller.tenant;
    let reference = MessageReference::Id(message);
    let found = ports
        .conversations
        .find_message(tenant, conversation, &reference);
    let Some(found) = found.await? else {
        if attempt.command.supersedes.is_none() {
            // It is queued, and stored when its turn starts.
            return Err(ChatError::Busy);
        }
        return Err(unknown_message());
    };
    if !ports.may_refer_to(&attempt.caller, &found.message).await? {
        return match attempt.command.supersedes {
            Some(_) => Err(unknown_message()),
            None => Ok(None),
        };
    }
    if found.message.superseded_at.is_some() {
        return Err(ChatError::MessageSuperseded);
    }
    if found.message.is_of_staff() {
        let detail = "a message of staff cannot be superseded";
        return Err(fault("/supersedes", FaultCode::NotCombinable, detail));
    }
    let found = without_staff_before(ports, tenant, conversation, found).await?;
    let response_schema = match found.message.turn_id {
        Some(turn) => ports.turns.find(tenant, turn).await?.value,
        None => None,
    }
    .and_then(|turn| turn.response_schema);
    let has_text = attempt.command.has_content();
    let answered = answered_message(&found, has_text);
    let answered = answered.map_err(|fault| ChatError::Invalid(vec![fault]))?;
    Ok(Some(SupersededMessages {
        supersession: Supersession {
            from_seq: found.message.seq,
            kept: found.before - found.of_staff,
            answered: answered.as_ref().map(|message| AnsweredMessage {
                id: message.id,
                seq: message.seq,
            }),
        },
        answered,
        response_schema,
    }))
}

/// Replaces the message before a found one by the last before it that staff has not written.
async fn without_staff_before(
    ports: &CachedPorts,
    tenant: &TenantId,
    conversation: ConversationId,
    found: FoundMessage,
) -> Result<FoundMessage, ChatError> {
    let mut previous = found.previous.clone();
    while let Some(of_staff) = previous.as_ref().filter(|it| it.is_of_staff()) {
        let reference = MessageReference::Id(of_staff.id);
        let conversations = &ports.conversations;
        let before = conversations.find_message(tenant, conversation, &reference);
        previous = before.await?.and_then(|before| before.previous);
    }
    Ok(FoundMessage { previous, ..found })
}

/// Returns the user's message that receives another reply; `None` if the attempt has a text of its
/// own.
fn answered_message(found: &FoundMessage, has_text: bool) -> Result<Option<Message>, InputFault> {
    match found.message.role {
        Role::User if has_text => Ok(None),
        Role::User => {
            let detail = "required to supersede a user's message";
            Err(InputFault::new("/message", FaultCode::Required, detail))
        }
        Role::Agent if has_text => {
            let detail = "must be absent to supersede an agent's message";
            Err(InputFault::new(
                "/message",
                FaultCode::NotCombinable,
                detail,
            ))
        }
        Role::Agent => {
            let answers =
                |it: &&Message| it.role == Role::User && it.turn_id == found.message.turn_id;
            let answered = found.previous.as_ref().filter(answers);
            let unasked = || {
                let detail = "a message that answers none cannot be superseded, such as a greeting";
                InputFault::new("/supersedes", FaultCode::NotCombinable, detail)
            };
            Ok(Some(answered.ok_or_else(unasked)?.clone()))
        }
        Role::Other(_) => {
            let detail = "a message of this role cannot be superseded";
            let code = FaultCode::NotCombinable;
            Err(InputFault::new("/supersedes", code, detail))
        }
    }
}

/// Returns the target of an attempt that creates its conversation.
async fn new_target(ports: &CachedPorts, attempt: &ChatAttempt) -> Result<ChatTarget, ChatError> {
    let (caller, command) = (&attempt.caller, &attempt.command);
    if command.supersedes.is_some() {
        return Err(unknown_message());
    }
    let user_id = own_user(attempt).map_err(ChatError::Invalid)?;
    let agent_id = command.agent_id.ok_or(ChatError::AgentNotFound)?;
    let agent = find_agent(ports, caller, agent_id).await?;
    let new = Conversation {
        user_id: user_id.clone(),
        key: command.conversation_key.clone(),
        title: command.title.clone(),
        title_source: TitleSource::of_client(command.title.as_deref()),
        context: command.context.clone(),
        ..Conversation::empty(attempt.new_conversation, agent.id, attempt.stamp.time)
    };
    Ok(ChatTarget {
        conversation: ConversationTarget::New(new),
        user_id,
        turn_number: 0,
        agent,
        files: Vec::new(),
        superseded: None,
        client_tools: Vec::new(),
        response_schema: command.response_schema.clone(),
    })
}

pub(super) async fn find_agent(
    ports: &CachedPorts,
    caller: &Principal,
    id: AgentId,
) -> Result<Arc<Agent>, ChatError> {
    let found = find_reachable(&*ports.agents, caller, id).await?;
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

fn unknown_message() -> ChatError {
    let detail = "no message of the conversation";
    fault("/supersedes", FaultCode::UnknownValue, detail)
}

fn fault(pointer: &str, code: FaultCode, detail: &str) -> ChatError {
    ChatError::Invalid(vec![InputFault::new(pointer, code, detail)])
}
