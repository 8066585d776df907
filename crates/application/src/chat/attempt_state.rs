//! The states between the acceptance of a message and its stored turn.

use std::sync::Arc;

use domain::{Problem, TurnId};
use ports::Idempotent;

use super::{
    accepted_turn::AcceptedTurn, attempt::Resumption, command::ChatError,
    conversation_locks::ConversationLock, start::InlineAttempt, target::ChatTarget,
};

/// The state of a chat attempt.
pub(super) enum AttemptState {
    /// Its conversation and agent are read next. After a conflict, the lock of the previous pass is
    /// kept.
    Resolving(Option<ConversationLock>),
    /// The agent's own engine is asked at once, before anything is stored.
    AnsweringInline(InlineAttempt),
    /// Its turn is stored next, and then runs in the background.
    Starting {
        target: Arc<ChatTarget>,
        /// The failure of the agent's own engine, which is not called again if the turn starts now.
        failure: Option<Problem>,
    },
    /// Nothing is stored, because the conversation, the agent or the node id has changed. Another
    /// pass begins.
    Conflicting(Option<ConversationLock>),
    /// Its turn is stored, its idempotency key was used before, or it is rejected. The key is
    /// checked next.
    Decided(Result<Idempotent<AcceptedTurn>, ChatError>),
    /// A failed turn has released its idempotency key. Another pass begins.
    Resuming(Resumption),
    /// Its idempotency key has started this turn, which was deleted with its named conversation.
    /// Another pass begins, with another key.
    Deleted(TurnId),
    /// Its turn, or the one that its idempotency key has started, is stored.
    Accepted(AcceptedTurn),
}

impl AttemptState {
    pub(super) const fn starting(target: Arc<ChatTarget>) -> Self {
        Self::Starting {
            target,
            failure: None,
        }
    }

    pub(super) const fn rejected(error: ChatError) -> Self {
        Self::Decided(Err(error))
    }
}
