//! Engines that answer.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{Agent, Fault, FinishReason, TenantId, ToolCall, TurnId, Usage, Utterance};
use futures::stream::BoxStream;

use crate::{AgentTool, BoxError, ToolArguments};

/// What an engine is given.
#[derive(Debug, Clone)]
pub struct ReplyRequest {
    /// Whose data.
    pub tenant: TenantId,
    /// Who answers.
    pub agent: Arc<Agent>,
    /// The turn.
    pub turn_id: TurnId,
    /// The number of this turn in its conversation, from 0.
    pub turn_number: i64,
    /// The person who speaks, if known.
    pub user_id: Option<String>,
    /// The conversation before this message, oldest first; empty for engines that answer at once.
    pub history: Vec<Utterance>,
    /// The user's text.
    pub message: String,
    /// The tools that the agent has and that work at the moment; empty for engines that answer at
    /// once.
    pub tools: Vec<AgentTool>,
    /// The agent's tools that do not work at the moment, by their capabilities, and servers of tools
    /// that are away.
    pub unavailable_tools: Vec<String>,
}

/// One piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyChunk {
    /// More text.
    Delta(String),
    /// The engine calls a tool.
    ToolCalled {
        /// The tool.
        name: String,
        /// What it is given.
        arguments: ToolArguments,
    },
    /// A call has ended. Every call that was told ends once, before the end.
    ToolReturned(ToolCall),
    /// The end.
    End {
        /// Why.
        finish_reason: FinishReason,
        /// Tokens, where the engine counts them.
        usage: Option<Usage>,
    },
}

/// An answer as it comes: deltas and tool calls, then exactly one end or one error. Dropping it stops the engine
/// and whatever it asked elsewhere.
pub type ReplyStream = BoxStream<'static, Result<ReplyChunk, ReplyError>>;

/// Why an engine gives no answer.
#[derive(Debug, thiserror::Error)]
pub enum ReplyError {
    /// It cannot be reached.
    #[error("the engine is unavailable")]
    Unavailable(#[source] BoxError),
    /// It was asked too often.
    #[error("the engine is rate limited")]
    RateLimited {
        /// When it may be asked again, if it said so.
        retry_after: Option<Duration>,
    },
    /// The tenant has too much work waiting at the engine already; nothing was asked of it.
    #[error("the engine is overloaded")]
    Overloaded,
    /// It did not answer in time.
    #[error("the engine took too long")]
    TimedOut,
    /// It will not answer this request, however often it is asked.
    #[error("the engine refused")]
    Refused(#[source] BoxError),
    /// Its answer was cut off.
    #[error("the engine's answer was cut off")]
    CutOff(#[source] BoxError),
    /// Its answer was malformed, too large, or, with [`UselessAnswer`] as the cause, none.
    #[error("the engine's answer was bad")]
    BadAnswer(#[source] BoxError),
}

/// The cause of a [`ReplyError::BadAnswer`] that is well-formed, and yet of no use: one without a
/// word, say, or with more words than are taken. What an agent is told can bring that about, so it
/// says nothing of the engine to other agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UselessAnswer(pub &'static str);

impl ReplyError {
    /// Whether asking again can help.
    pub const fn is_retryable(&self) -> bool {
        !matches!(self, Self::Refused(_) | Self::BadAnswer(_))
    }

    /// Whether it is an answer that the agent itself may have made useless.
    pub fn is_useless_answer(&self) -> bool {
        matches!(self, Self::BadAnswer(cause) if cause.is::<UselessAnswer>())
    }
}

/// Why an engine accepts no agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrepareError {
    /// Something in the configuration does not work; pointers are inside the agent.
    #[error("the configuration does not work")]
    Invalid(Vec<Fault>),
    /// The tenant has too much work waiting at the engine already; nothing was checked.
    #[error("the engine is overloaded")]
    Overloaded,
}

/// An engine that answers. To add one: implement this, and register it by name in
/// `api/src/wiring.rs`.
#[async_trait]
pub trait ReplyEngine: Send + Sync {
    /// Whether the engine answers from the request alone, at once and without waiting on anything
    /// outside the process. Then it is asked before anything is stored, without history, and the
    /// whole turn is stored in one write.
    fn is_immediate(&self) -> bool {
        false
    }

    /// Checks what the agent's configuration says to this engine, and prepares for it. Called
    /// before an agent is saved, whichever engine it names.
    async fn prepare(&self, _tenant: &TenantId, _agent: &Arc<Agent>) -> Result<(), PrepareError> {
        Ok(())
    }

    /// The models that an agent can choose from, where the engine knows them; MUST answer soon, from
    /// memory if it has to.
    async fn models(&self) -> Option<Vec<String>> {
        None
    }

    /// Answers. MUST give deltas and one end, or an error; MUST stop all work when the stream is
    /// dropped.
    async fn reply(&self, request: ReplyRequest) -> Result<ReplyStream, ReplyError>;
}
