//! The error of the use cases of agents.

use domain::{InputFault, Problem};
use ports::RepositoryError;

use crate::{IdempotencyConflict, idempotency::IdempotentError, principal_limits::TooManyLogBytes};

/// The error of a use case of agents.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The caller's tenant has no such agent.
    #[error("no such agent")]
    NotFound,
    /// The agent does not have a version that the caller accepts.
    #[error("the agent has another version")]
    VersionMismatch,
    /// The agent would not be valid.
    #[error("the agent is not valid")]
    Invalid(Vec<InputFault>),
    /// A rule of the agent is not valid.
    #[error("a rule is not valid")]
    InvalidRule(Vec<InputFault>),
    /// The server has no engine of that name.
    #[error("unknown engine")]
    UnknownEngine(Vec<InputFault>),
    /// The server has no tool of that name.
    #[error("unknown tool")]
    UnknownTool(Vec<InputFault>),
    /// The tenant has too many agents waiting to be checked; nothing was written.
    #[error("too many agents are waiting for validation")]
    Overloaded,
    /// The rules could not be tested.
    #[error("the engine failed: {}", .0.code.as_str())]
    Failed(Problem),
    /// Processes of an earlier version still run, which could not read the agent; nothing was written.
    #[error("processes of an earlier version still run")]
    Upgrading,
    /// Concurrent changes of the agent continued; nothing was written.
    #[error("other requests change the agent at the same time")]
    Contended,
    /// The caller has written more bytes of events than it may.
    #[error(transparent)]
    TooManyLogBytes(#[from] TooManyLogBytes),
    /// The cursor belongs to another listing.
    #[error("not a cursor of this listing")]
    InvalidCursor,
    /// The idempotency key was used before.
    #[error(transparent)]
    Idempotency(#[from] IdempotencyConflict),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

impl IdempotentError for AgentError {
    fn is_rejection(&self) -> bool {
        !matches!(self, Self::Store(_))
    }
}

impl AgentError {
    /// Returns the same error for a body that is an agent's configuration: `/config/rules/0` of the
    /// agent is `/rules/0` of the body.
    pub(super) fn below_config(mut self) -> Self {
        if let Self::Invalid(faults)
        | Self::InvalidRule(faults)
        | Self::UnknownEngine(faults)
        | Self::UnknownTool(faults) = &mut self
        {
            for fault in faults {
                if let Some(inside) = fault.pointer.strip_prefix("/config") {
                    fault.pointer = inside.to_owned();
                }
            }
        }
        self
    }
}
