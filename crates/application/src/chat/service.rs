//! The chat use case: from a user's message to the turn that answers it.

use std::{sync::Arc, time::Duration};

use domain::{ConversationId, IdempotencyKey, MessageId, Principal, ProblemCode, Stamp, TurnId};
use ports::{Idempotent, RepositoryError};
use tokio::time::timeout;

use super::{
    ChatContext,
    accepted_turn::AcceptedTurn,
    command::ChatCommand,
    conversation_locks::{ConversationLock, ConversationLocks},
    error::ChatError,
    runner::TurnRunner,
    start::{InlineOutcome, Pass, answer_inline, start_turn},
    target::{ChatAttempt, Resumption, resolve_target},
    turn_waiter::TurnWaiter,
};
use crate::{
    IdempotencyRefused,
    detach_on_drop::DetachOnDrop,
    idempotency::{self, judged},
};

/// The maximum number of passes, if concurrent writes keep changing the conversation.
const MAX_PASSES: usize = 20;

/// The longest time for which a turn waits for the turns before it.
pub const MAX_QUEUE_TIME: Duration = Duration::from_mins(10);

/// The operation that the idempotency keys of chats belong to, on REST and on sockets.
const OPERATION: &str = "chat";

/// Stores a user's message as a turn and has an engine reply to it.
pub struct ChatService {
    pipeline: Arc<ChatPipeline>,
}

/// The state that is shared by all messages.
struct ChatPipeline {
    context: Arc<ChatContext>,
    runner: Arc<TurnRunner>,
    locks: ConversationLocks,
}

impl ChatService {
    /// Creates a service whose turns `runner` runs.
    pub fn new(runner: Arc<TurnRunner>) -> Self {
        Self {
            pipeline: Arc::new(ChatPipeline {
                context: Arc::clone(runner.context()),
                runner,
                locks: ConversationLocks::default(),
            }),
        }
    }

    /// Accepts a message; its turn is stored when this returns. If the future is dropped, it
    /// continues in the background: an accepted message is always answered.
    pub fn send(
        &self,
        caller: &Principal,
        command: ChatCommand,
        key: Option<IdempotencyKey>,
    ) -> impl Future<Output = Result<AcceptedTurn, ChatError>> + Send + use<> {
        let pipeline = Arc::clone(&self.pipeline);
        let background = self.pipeline.runner.background();
        let caller = caller.clone();
        let sending = async move { pipeline.send(caller, command, key).await };
        DetachOnDrop::new(sending, background)
    }
}

impl ChatPipeline {
    async fn send(
        &self,
        caller: Principal,
        command: ChatCommand,
        key: Option<IdempotencyKey>,
    ) -> Result<AcceptedTurn, ChatError> {
        command.check().map_err(ChatError::Invalid)?;
        let mut attempt = Arc::new(self.new_attempt(caller, command, key));
        let mut lock = None;
        for _ in 0..MAX_PASSES {
            let decided = match self.pass(&attempt, &mut lock).await {
                Ok(Pass::Conflict) => {
                    let now = self.context.ports.clock.now();
                    attempt = Arc::new(attempt.restamped(now));
                    continue;
                }
                Ok(Pass::Decided(decided)) => Ok(decided),
                Err(error) => Err(error),
            };
            lock = None;
            if let Err(ChatError::ConversationNotFound) = &decided
                && attempt.resumption.is_in_conversation()
            {
                // The conversation of the key's failed turn has been deleted since.
                attempt = Arc::new(attempt.resumed(Resumption::RestartInNewConversation));
                continue;
            }
            let records = &*self.context.ports.claims;
            let (tenant, entry) = (&attempt.caller.tenant, attempt.claim.as_ref());
            let record = match judged(records, tenant, entry, decided).await? {
                Idempotent::Applied(accepted) => return Ok(accepted),
                Idempotent::Replayed(record) => record,
            };
            match (record.turn_id, record.released_into) {
                (Some(turn), _) => return self.replay(&attempt.caller, turn).await,
                // The key's turn failed and released the key: a new turn starts where it was.
                (None, Some(conversation)) => {
                    attempt = Arc::new(attempt.resumed(Resumption::ContinueIn(conversation)));
                }
                (None, None) => return Err(IdempotencyRefused::InUse.into()),
            }
        }
        Err(ChatError::Busy)
    }

    fn new_attempt(
        &self,
        caller: Principal,
        command: ChatCommand,
        key: Option<IdempotencyKey>,
    ) -> ChatAttempt {
        let ports = &self.context.ports;
        let now = ports.clock.now();
        ChatAttempt {
            claim: idempotency::claim(&caller, OPERATION, key, &command, now),
            stamp: Stamp {
                time: now,
                actor: caller.id.clone(),
            },
            caller,
            turn_id: TurnId::new(ports.ids.next_id()),
            message_id: MessageId::new(ports.ids.next_id()),
            new_conversation: ConversationId::new(ports.ids.next_id()),
            resumption: Resumption::None,
            command,
        }
    }

    /// Returns the turn that an earlier request with the same key started, in its current state.
    async fn replay(&self, caller: &Principal, id: TurnId) -> Result<AcceptedTurn, ChatError> {
        let ChatContext { ports, live, .. } = &*self.context;
        // Only the store knows whether a turn that has ended was deleted since.
        let known = live.get(id).filter(|live| !live.has_ended());
        let (live, found) = if let Some(live) = known {
            (live, None)
        } else {
            let found = ports.turns.find(&caller.tenant, id).await?.value;
            let found = found.ok_or(ChatError::ConversationNotFound)?;
            let turn = found.turn.clone();
            (live.enter_found(&caller.tenant, found), Some(turn))
        };
        let waiter = TurnWaiter::new(live, Arc::clone(&ports.turns));
        Ok(AcceptedTurn::replayed(waiter, found))
    }

    /// Makes one pass with the conversation and the agent as they are now. After a conflict, the
    /// next pass keeps `lock`.
    async fn pass(
        &self,
        attempt: &Arc<ChatAttempt>,
        lock: &mut Option<ConversationLock>,
    ) -> Result<Pass, ChatError> {
        if self.runner.is_overloaded() {
            return Err(ChatError::Overloaded);
        }
        // A caller that may not read the conversation must not learn that it is busy.
        let target = Arc::new(resolve_target(&self.context.ports, attempt).await?);
        let tenant = &attempt.caller.tenant;
        let chain = self.context.engines.chain(tenant, &target.agent);
        if !chain.first().is_some_and(|it| it.engine.is_immediate()) {
            *lock = None;
            return start_turn(&self.runner, attempt, &target, None).await;
        }
        if lock.is_none() {
            *lock = self.lock_conversation(attempt).await?;
            if lock.as_ref().is_some_and(|lock| lock.met_outage) {
                let source = "the turn before this one could not be stored".into();
                return Err(RepositoryError::Unavailable(source).into());
            }
            if lock.as_ref().is_some_and(|lock| lock.waited) {
                // The target was resolved before the previous turn was stored.
                return Ok(Pass::Conflict);
            }
        }
        let own_engine = chain.get(..1).unwrap_or_default();
        let failure = match answer_inline(&self.context, attempt, &target, own_engine).await {
            Ok(InlineOutcome::Stored(outcome)) => return Ok(Pass::Decided(outcome)),
            // The store decides again, in one transaction.
            Ok(InlineOutcome::Busy) => None,
            Ok(InlineOutcome::Failed(problem))
                if problem.code == ProblemCode::Overloaded && chain.len() == 1 =>
            {
                // Nothing is stored: the client can send the same message again.
                return Err(ChatError::Overloaded);
            }
            // A turn that is started records the failure, and tries the fallbacks.
            Ok(InlineOutcome::Failed(problem)) => Some(problem),
            Err(ChatError::Store(RepositoryError::Stale { .. })) => return Ok(Pass::Conflict),
            Err(error) => {
                note_outage(lock.as_ref(), &error);
                return Err(error);
            }
        };
        *lock = None;
        start_turn(&self.runner, attempt, &target, failure).await
    }

    /// Waits for the earlier turns of engines that answer inline: each changes what the next one
    /// is computed from.
    async fn lock_conversation(
        &self,
        attempt: &ChatAttempt,
    ) -> Result<Option<ConversationLock>, ChatError> {
        let Some(id) = attempt.conversation_id() else {
            return Ok(None);
        };
        let key = (attempt.caller.tenant.clone(), id);
        let locking = self.locks.lock(key, attempt.command.on_busy);
        let lock = timeout(MAX_QUEUE_TIME, locking).await;
        let lock = lock.or(Err(ChatError::from(ProblemCode::EngineTimeout)))?;
        lock.map(Some).ok_or(ChatError::Busy)
    }
}

fn note_outage(lock: Option<&ConversationLock>, error: &ChatError) {
    if let (Some(lock), ChatError::Store(RepositoryError::Unavailable(_))) = (lock, error) {
        lock.note_outage();
    }
}
