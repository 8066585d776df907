//! Why a chat gave no reply.

use domain::{Fault, Problem, ProblemCode};
use ports::{ReplyError, RepositoryError};

use crate::{IdempotencyRefused, idempotency::Refusal};

/// Why a chat gave no reply.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// There is no such agent.
    #[error("no such agent")]
    AgentNotFound,
    /// There is no such conversation that the caller may know of.
    #[error("no such conversation")]
    ConversationNotFound,
    /// The message contradicts its conversation.
    #[error("the message does not fit its conversation")]
    Invalid(Vec<Fault>),
    /// A turn is in progress, or too many wait.
    #[error("the conversation is busy")]
    Busy,
    /// Too many finished turns wait to be stored, or too many messages of the tenant to be
    /// answered.
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

/// The problem that an engine's error is to clients; the cause stays in the log.
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

/// The code of that problem.
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
