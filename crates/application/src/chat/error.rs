//! Why a chat gave no reply.

use domain::{Fault, Problem, ProblemCode};
use ports::{ReplyError, RepositoryError};

use crate::IdempotencyRefused;

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
    /// The turn was cancelled while it ran.
    #[error("the turn was cancelled")]
    Cancelled,
    /// The engines gave no answer.
    #[error("no engine answered")]
    Engine(#[source] ReplyError),
    /// No engine of the agent's choice is on this server any more.
    #[error("the server has none of the agent's engines")]
    NoEngine,
    /// The engine panicked: a mistake of ours, and in the log.
    #[error("the engine panicked")]
    Panicked,
    /// The server stopped before the reply was there.
    #[error("the turn was interrupted")]
    Interrupted,
    /// The idempotency key was used before.
    #[error(transparent)]
    Idempotency(#[from] IdempotencyRefused),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

/// The problem that an engine's error is to clients; the cause stays in the log.
pub fn engine_problem(error: &ReplyError) -> ProblemCode {
    match error {
        ReplyError::Unavailable(_) | ReplyError::RateLimited { .. } => {
            ProblemCode::EngineUnavailable
        }
        ReplyError::TimedOut => ProblemCode::EngineTimeout,
        ReplyError::Refused(_) | ReplyError::BadAnswer(_) => ProblemCode::EngineFailed,
    }
}

/// The problem that a failed turn carries.
pub(super) fn turn_problem(error: &ReplyError) -> Problem {
    Problem::new(engine_problem(error))
}
