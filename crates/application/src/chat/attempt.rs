//! The attempt to start the turn of a message.

use std::sync::Arc;

use domain::{
    Agent, Audience, ConversationId, ConversationState, CredentialSource, IdempotencyEntry,
    IdempotencyKey, MessageId, NodeId, Principal, ResponseSchema, Stamp, Timestamp, TurnId,
    TurnStarted, UploadQuota,
};
use ports::ModelRequest;
use writes::BeginTurn;

use super::{command::ChatCommand, target::ChatTarget, turn_task::note_of_operator};
use crate::live_turns::TurnSubject;

/// A message on its way to its turn.
#[derive(Clone)]
pub(super) struct ChatAttempt {
    pub(super) caller: Principal,
    pub(super) credential: Arc<CredentialSource>,
    /// The quota of the caller's uploads.
    pub(super) quota: UploadQuota,
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

    /// Returns the attempt with another key, after the turn of its key was deleted.
    pub(super) fn after_deletion(&self, turn: TurnId) -> Self {
        let entry = self.idempotency.as_ref();
        Self {
            idempotency: entry.map(|entry| after_deletion(entry, turn)),
            resumption: Resumption::None,
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

    /// Returns the newest message of the user, if it is this one and to be superseded.
    pub(super) fn sent_before(&self, conversation: &ConversationState) -> Option<MessageId> {
        let sent = self.command.client_message_id.as_deref()?;
        let newest = conversation.newest_message.as_ref()?;
        let is_repeated = newest.client_id.as_deref() == Some(sent);
        (is_repeated && self.command.supersedes_itself).then_some(newest.id)
    }

    /// Returns for whom the response to the message is made.
    pub(super) fn audience(&self) -> Audience {
        self.caller
            .audience_of_chat(self.command.user_id.as_deref())
    }

    /// Returns the write that starts or queues the turn.
    pub(super) fn begin_turn(&self, target: &ChatTarget, node: NodeId) -> BeginTurn {
        BeginTurn {
            tenant: self.caller.tenant.clone(),
            turn_id: self.turn_id,
            // Where the message would stand, the reply will.
            message_id: match self.command.instruction {
                Some(_) => self.reply_id,
                None => self.message_id,
            },
            reply_id: self.reply_id,
            client_message_id: self.client_message_id(target),
            supersession: target.superseded.as_ref().map(|it| it.supersession),
            target: target.conversation.clone(),
            only_of: self.only_user(),
            agent_id: target.agent.id,
            agent_version: target.agent.version,
            input: self.input(target).to_owned(),
            files: target.files.clone(),
            instruction: self.command.instruction.clone(),
            metadata: self.command.metadata.clone(),
            client_tools: target.client_tools.clone(),
            response_schema: target.response_schema.clone(),
            stamp: self.stamp.clone(),
            node,
            on_busy: self.command.on_busy,
            idempotency: self.idempotency.clone(),
            is_resumption: self.resumption != Resumption::None,
        }
    }

    /// Returns the only user in whose conversations the message may be stored, if there is one.
    fn only_user(&self) -> Option<String> {
        let own = self.caller.confined_to().map(ToOwned::to_owned);
        own.or_else(|| self.command.user_id.clone())
    }

    /// Returns the request to an engine, without history and tools.
    pub(super) fn reply_request(&self, target: &ChatTarget) -> ModelRequest {
        let (tenant, agent) = (self.caller.tenant.clone(), Arc::clone(&target.agent));
        let instruction = self.command.instruction.as_deref().map(note_of_operator);
        let message = match &instruction {
            Some(instruction) => instruction,
            None => self.input(target),
        };
        ModelRequest {
            turn_number: target.turn_number,
            user_id: target.user_id.clone(),
            tool_use: self.command.tool_use.clone(),
            files: target.files.clone(),
            response_schema: schema_of(target.response_schema.as_ref(), &agent),
            ..ModelRequest::new(tenant, agent, self.turn_id, message)
        }
    }

    /// Returns the ids under which the live turn is registered.
    pub(super) fn turn_subject(&self, target: &ChatTarget) -> TurnSubject {
        TurnSubject {
            tenant: self.caller.tenant.clone(),
            turn_id: self.turn_id,
            conversation_id: target.conversation.id(),
            agent_id: target.agent.id,
            user: target.user_id.clone().into(),
            started_by: self.caller.id.clone(),
            credential: Some(Arc::clone(&self.credential)),
            request_id: self.command.request_id.clone(),
            is_ephemeral: false,
        }
    }

    /// Returns the user's text.
    fn input<'a>(&'a self, target: &'a ChatTarget) -> &'a str {
        let stored = target.answered().map(|message| message.content.as_str());
        stored
            .or(self.command.message.as_deref())
            .unwrap_or_default()
    }

    /// Returns the client's own id of the user's message.
    fn client_message_id(&self, target: &ChatTarget) -> Option<String> {
        match target.answered() {
            Some(message) => message.client_message_id.clone(),
            None => self.command.client_message_id.clone(),
        }
    }

    /// Returns the content of the turn's `turn.started` event. `message_id` is the user's message, and
    /// `reply_id` that of the agent, if it replies.
    pub(super) fn turn_started(
        &self,
        target: &ChatTarget,
        message_id: MessageId,
        reply_id: Option<MessageId>,
    ) -> TurnStarted {
        TurnStarted {
            turn_id: self.turn_id,
            conversation_id: Some(target.conversation.id()),
            message_id,
            reply_id,
            agent_id: target.agent.id,
            agent_version: target.agent.version,
            continues: None,
        }
    }
}

/// Returns the schema of a reply: the one that came with the message, or that of the agent.
pub(super) fn schema_of(own: Option<&ResponseSchema>, agent: &Agent) -> Option<ResponseSchema> {
    own.or(agent.config.response_schema.as_ref()).cloned()
}

/// Returns the idempotency entry of a message whose conversation was deleted with its turn.
pub(super) fn after_deletion(entry: &IdempotencyEntry, turn: TurnId) -> IdempotencyEntry {
    let parts = [entry.key.as_str(), &turn.to_string()];
    IdempotencyEntry {
        key: IdempotencyKey::derived("deleted", &parts),
        ..entry.clone()
    }
}
