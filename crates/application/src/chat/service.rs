//! The chat use case: from a user's message to the turn that answers it. A [`ChatAttempt`] moves
//! from one [`AttemptState`] to the next until its turn is stored.

use std::{sync::Arc, time::Duration};

use domain::{
    Audience, ConversationId, CredentialSource, IdempotencyKey, LimitOverrides, MessageId,
    Principal, Scope, Stamp, TurnId, UploadQuota,
};
use ports::{Idempotent, RepositoryError};
use tokio::time::timeout;

use super::{
    ChatContext,
    accepted_turn::AcceptedTurn,
    attached::AttachedFile,
    attempt::{ChatAttempt, Resumption, after_deletion},
    attempt_state::AttemptState,
    command::{ChatCaller, ChatCommand, ChatError},
    conversation_locks::ConversationLocks,
    ephemeral::EphemeralChat,
    files::MessageFiles,
    runner::TurnRunner,
    start::{MAX_STORE_TIME, TurnStarter},
};
use crate::{
    IdempotencyConflict,
    detach_on_drop::DetachOnDrop,
    idempotency::{self, check_key},
    unnamed_messages::UnnamedMessages,
};

/// The maximum number of passes, if concurrent writes keep changing the conversation.
pub(super) const MAX_PASSES: usize = 20;

/// The longest time for which a turn waits for the turns before it.
pub const MAX_QUEUE_TIME: Duration = Duration::from_mins(10);

/// The operation that the idempotency keys of chats belong to, on REST and on sockets.
pub(super) const OPERATION: &str = "chat";

/// Stores a user's message as a turn, and has an engine reply to it.
pub struct ChatService {
    pipeline: Arc<ChatPipeline>,
    /// The messages to which their clients give no ids.
    pub unnamed: UnnamedMessages,
}

/// The state that all messages share.
struct ChatPipeline {
    context: Arc<ChatContext>,
    starter: TurnStarter,
}

impl ChatService {
    /// Creates a service whose turns `runner` runs.
    pub fn new(context: Arc<ChatContext>, runner: Arc<TurnRunner>) -> Self {
        let starter = TurnStarter {
            context: Arc::clone(&context),
            runner,
            locks: ConversationLocks::default(),
        };
        Self {
            unnamed: UnnamedMessages::new(Arc::clone(&context.ports.clock)),
            pipeline: Arc::new(ChatPipeline { context, starter }),
        }
    }

    pub(super) fn context(&self) -> &ChatContext {
        &self.pipeline.context
    }

    /// Accepts a message; its turn is stored when this returns. If the future is dropped, it
    /// continues in the background: an accepted message is always answered.
    pub fn send(
        &self,
        caller: ChatCaller<'_>,
        command: ChatCommand,
        key: Option<IdempotencyKey>,
    ) -> impl Future<Output = Result<AcceptedTurn, ChatError>> + Send + use<> {
        let pipeline = Arc::clone(&self.pipeline);
        let quota = self.context().files.quota(caller.principal, caller.limits);
        let (caller, credential) = (caller.principal.clone(), Arc::clone(caller.credential));
        let caller = (caller, credential, quota);
        let sending = async move { pipeline.send(caller, command, key).await };
        DetachOnDrop::new(sending, self.pipeline.context.background.clone())
    }

    /// Returns the running turn of a conversation, or else the first queued one, or else the newest,
    /// if it has ended in the last ten minutes. Returns `None` if the caller may not follow it.
    pub async fn follow(
        &self,
        caller: &Principal,
        conversation: ConversationId,
    ) -> Result<Option<AcceptedTurn>, ChatError> {
        let context = &self.pipeline.context;
        context.current_turn(caller, conversation).await
    }

    /// Returns a turn of any state, to be followed.
    pub async fn find_turn(
        &self,
        caller: &Principal,
        id: TurnId,
    ) -> Result<Option<AcceptedTurn>, ChatError> {
        self.pipeline.context.find_turn(caller, id).await
    }

    /// Returns the turn that a message with this key has started, even if it has failed since.
    pub async fn find_sent(
        &self,
        caller: &Principal,
        key: IdempotencyKey,
    ) -> Result<Option<AcceptedTurn>, ChatError> {
        let context = self.context();
        let now = context.ports.clock.now();
        let mut entry = idempotency::new_entry(caller, OPERATION, Some(key), &(), now);
        for _ in 0..MAX_PASSES {
            let Some(sent) = entry else { break };
            let found = context.ports.idempotency.find(&caller.tenant, &sent);
            let turn = found.await?.and_then(|it| it.turn_id.or(it.released_by));
            let Some(turn) = turn else { break };
            if let Some(found) = context.find_turn(caller, turn).await? {
                return Ok(Some(found));
            }
            entry = Some(after_deletion(&sent, turn));
        }
        Ok(None)
    }

    /// Starts a turn of which nothing is stored. It is stopped when the result is dropped. With a key only
    /// the answer is stored: the turn then runs to its end, also if this future is dropped.
    pub async fn send_ephemeral(
        &self,
        caller: ChatCaller<'_>,
        chat: EphemeralChat,
        key: Option<IdempotencyKey>,
    ) -> Result<AcceptedTurn, ChatError> {
        let runner = &self.pipeline.starter.runner;
        let Some(key) = key else {
            return runner.start_ephemeral(caller, chat).await;
        };
        let (runner, background) = (Arc::clone(runner), self.context().background.clone());
        let (principal, credential) = (caller.principal.clone(), Arc::clone(caller.credential));
        let sending = async move {
            let caller = ChatCaller {
                principal: &principal,
                credential: &credential,
                // Nothing is uploaded.
                limits: &LimitOverrides::default(),
            };
            runner.start_claimed(caller, chat, key).await
        };
        match timeout(MAX_STORE_TIME, DetachOnDrop::new(sending, background)).await {
            Ok(started) => started,
            Err(late) => Err(RepositoryError::Unavailable(late.into()).into()),
        }
    }
}

impl ChatPipeline {
    async fn send(
        &self,
        (caller, credential, quota): (Principal, Arc<CredentialSource>, UploadQuota),
        command: ChatCommand,
        key: Option<IdempotencyKey>,
    ) -> Result<AcceptedTurn, ChatError> {
        self.check(&caller, &command).await?;
        let mut files = MessageFiles::Sent(command.files.clone());
        let mut attempt = Arc::new(self.new_attempt((caller, credential, quota), command, key));
        let mut state = self.first_state(&attempt).await?;
        let mut passes = 0;
        loop {
            state = match state {
                AttemptState::Resolving(_) if passes == MAX_PASSES => {
                    AttemptState::rejected(ChatError::Busy)
                }
                AttemptState::Resolving(lock) => {
                    passes += 1;
                    let resolved = self.starter.resolve(&attempt, &mut files, lock).await;
                    resolved.unwrap_or_else(AttemptState::rejected)
                }
                AttemptState::AnsweringInline(inline) => {
                    let answered = self.starter.answer_inline(&attempt, inline).await;
                    answered.unwrap_or_else(AttemptState::rejected)
                }
                AttemptState::Starting { target, failure } => {
                    let started = self.starter.start_turn(&attempt, &target, failure).await;
                    started.unwrap_or_else(AttemptState::rejected)
                }
                AttemptState::Conflicting(lock) => {
                    let now = self.context.ports.clock.now();
                    attempt = Arc::new(attempt.restamped(now));
                    AttemptState::Resolving(lock)
                }
                AttemptState::Decided(outcome) => self.check_key(&attempt, outcome).await?,
                AttemptState::Resuming(resumption) => {
                    attempt = Arc::new(attempt.resumed(resumption));
                    AttemptState::Resolving(None)
                }
                AttemptState::Deleted(turn) => {
                    attempt = Arc::new(attempt.after_deletion(turn));
                    AttemptState::Resolving(None)
                }
                AttemptState::Accepted(accepted) => {
                    return Ok(accepted.shown_to(attempt.audience()));
                }
            };
        }
    }

    /// Returns the state in which an attempt begins. An earlier use of its key decides it before files are stored.
    async fn first_state(&self, attempt: &ChatAttempt) -> Result<AttemptState, ChatError> {
        let (tenant, entry) = (&attempt.caller.tenant, attempt.idempotency.as_ref());
        let files = &attempt.command.files;
        let earlier = self.context.earlier_use(tenant, entry, files).await?;
        Ok(match earlier {
            Some(record) => AttemptState::Decided(Ok(Idempotent::Replayed(record))),
            None => AttemptState::Resolving(None),
        })
    }

    /// Checks what is judged before the idempotency key is looked up.
    async fn check(&self, caller: &Principal, command: &ChatCommand) -> Result<(), ChatError> {
        command.check().map_err(ChatError::Invalid)?;
        let schema = command.response_schema.as_ref();
        self.context.check_schema(&caller.tenant, schema).await?;
        if command.instruction.is_some() && caller.audience() == Audience::User {
            return Err(ChatError::NotPermitted(Scope::ConversationsAll));
        }
        if command.context.is_some()
            && let Some(scope) = caller.lacks_to_act_as_staff()
        {
            return Err(ChatError::NotPermitted(scope));
        }
        // Before a key is looked up: a chat with an agent out of reach is no repetition of an accepted one.
        if command
            .agent_id
            .is_some_and(|id| !caller.agents.contains(id))
        {
            return Err(ChatError::AgentNotFound);
        }
        Ok(())
    }

    fn new_attempt(
        &self,
        (caller, credential, quota): (Principal, Arc<CredentialSource>, UploadQuota),
        mut command: ChatCommand,
        key: Option<IdempotencyKey>,
    ) -> ChatAttempt {
        let ports = &self.context.ports;
        let now = ports.clock.now();
        let idempotency = idempotency::new_entry(&caller, OPERATION, key, &command, now);
        // An attempt lives as long as its turn.
        let files = command.files.iter_mut();
        files.for_each(AttachedFile::forget_content);
        ChatAttempt {
            idempotency,
            stamp: Stamp {
                time: now,
                actor: caller.id.clone(),
            },
            caller,
            credential,
            quota,
            turn_id: TurnId::new(ports.ids.next_id()),
            message_id: MessageId::new(ports.ids.next_id()),
            reply_id: MessageId::new(ports.ids.next_id()),
            new_conversation: ConversationId::new(ports.ids.next_id()),
            resumption: Resumption::None,
            command,
        }
    }

    /// Checks the idempotency key, which takes precedence over most errors.
    async fn check_key(
        &self,
        attempt: &ChatAttempt,
        outcome: Result<Idempotent<AcceptedTurn>, ChatError>,
    ) -> Result<AttemptState, ChatError> {
        if let Err(ChatError::ConversationNotFound) = &outcome
            && attempt.resumption.is_in_conversation()
        {
            // The conversation of the key's failed turn has been deleted since.
            return Ok(AttemptState::Resuming(Resumption::RestartInNewConversation));
        }
        if let Err(ChatError::ConversationNotFound) = &outcome
            && attempt.command.conversation_key.is_some()
        {
            // The named conversation has been deleted since it was found; the name is free.
            return Ok(AttemptState::Conflicting(None));
        }
        let records = &*self.context.ports.idempotency;
        let (tenant, entry) = (&attempt.caller.tenant, attempt.idempotency.as_ref());
        let record = match check_key(records, tenant, entry, outcome).await? {
            Idempotent::Applied(accepted) => return Ok(AttemptState::Accepted(accepted)),
            Idempotent::Replayed(record) => record,
        };
        match (record.turn_id, record.released_into) {
            (Some(turn), _) => match self.context.find_turn(&attempt.caller, turn).await? {
                Some(accepted) => Ok(AttemptState::Accepted(accepted)),
                // The name is free, so the message begins another conversation with it.
                None if attempt.command.conversation_key.is_some() => {
                    Ok(AttemptState::Deleted(turn))
                }
                None => Err(ChatError::ConversationNotFound),
            },
            // The key's turn failed and released the key: a new turn starts in its conversation.
            (None, Some(conversation)) => {
                Ok(AttemptState::Resuming(Resumption::ContinueIn(conversation)))
            }
            (None, None) => Err(IdempotencyConflict::InUse.into()),
        }
    }
}
