//! The error of a chat.

use domain::{Fault, Problem, ProblemCode};
use ports::{ReplyError, RepositoryError};

use crate::{IdempotencyRefused, idempotency::Refusal};

/// The error of a chat that produced no reply.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The agent does not exist.
    #[error("no such agent")]
    AgentNotFound,
    /// The conversation does not exist, or the caller may not know of it.
    #[error("no such conversation")]
    ConversationNotFound,
    /// The message contradicts its conversation.
    #[error("the message does not fit its conversation")]
    Invalid(Vec<Fault>),
    /// A turn is in progress, or too many turns are queued.
    #[error("the conversation is busy")]
    Busy,
    /// Too many finished turns wait to be stored, or too many messages of the tenant wait for a
    /// reply.
    #[error("too many finished turns or messages wait")]
    Overloaded,
    /// The turn was cancelled.
    #[error("the turn was cancelled")]
    Cancelled,
    /// The turn failed.
    #[error("the turn failed: {}", .0.code.slug())]
    Failed(Problem),
    /// The idempotency key was used before.
    #[error(transparent)]
    Idempotency(#[from] IdempotencyRefused),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

impl Refusal for ChatError {
    fn is_of_store(&self) -> bool {
        !matches!(
            self,
            Self::AgentNotFound | Self::ConversationNotFound | Self::Invalid(_) | Self::Busy
        )
    }
}

impl From<ProblemCode> for ChatError {
    fn from(code: ProblemCode) -> Self {
        Self::Failed(Problem::new(code))
    }
}

/// Returns the problem that clients receive for an engine's error; the cause is only logged.
pub(super) fn engine_problem(error: &ReplyError) -> Problem {
    let wait = match error {
        ReplyError::RateLimited { retry_after } => *retry_after,
        _ => None,
    };
    Problem {
        retryable: error.is_retryable(),
        ..Problem::new(engine_code(error)).with_wait(wait)
    }
}

/// Returns the code of the problem for an engine's error.
pub(super) fn engine_code(error: &ReplyError) -> ProblemCode {
    match error {
        ReplyError::Unavailable(_) | ReplyError::RateLimited { .. } => {
            ProblemCode::EngineUnavailable
        }
        ReplyError::Overloaded => ProblemCode::Overloaded,
        ReplyError::TimedOut => ProblemCode::EngineTimeout,
        ReplyError::Refused(_) | ReplyError::BadAnswer(_) | ReplyError::CutOff(_) => {
            ProblemCode::EngineFailed
        }
    }
}
