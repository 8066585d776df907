//! Ends of turns.

use domain::{
    ClientTool, ConversationId, MessageId, NodeId, PrincipalId, Problem, Reasoning, RequestUsage,
    ResponseSchema, Stamp, TenantId, ToolCall, Turn, TurnId, TurnStep,
};

use super::begin::{Reply, TurnMessages};
use crate::Committed;

/// The end of a running turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEnding {
    /// The turn has a reply.
    Completed(Reply),
    /// The turn needs no reply: staff handles the conversation. It may have made calls that staff has
    /// decided.
    HandedOver {
        /// The calls.
        tool_calls: Vec<ToolCall>,
    },
    /// The turn has no reply.
    Failed {
        /// The reason; a retryable problem releases the turn's idempotency key.
        problem: Problem,
        /// The tools that were called before the failure.
        tool_calls: Vec<ToolCall>,
        /// The requests to models before the failure.
        requests: Vec<RequestUsage>,
    },
}

impl TurnEnding {
    /// Creates the end of a failed turn that called no tools and asked no model.
    pub const fn failed(problem: Problem) -> Self {
        Self::Failed {
            problem,
            tool_calls: Vec::new(),
            requests: Vec::new(),
        }
    }
}

/// A command that ends a running turn, either with its reply (turn completed, the agent's message,
/// `turn.completed`) or as failed (`turn.failed`), in both cases with the tools that were called and the
/// requests to models. A
/// retryable problem releases the idempotency key: its record then names the conversation instead of
/// the turn. Writes nothing unless the turn is in progress under `node`. The outcome is `Finished`
/// again, and nothing is written, if the turn has already ended in exactly this way under `node`: a
/// caller that received `Unavailable` repeats the command, and its first one may be stored. Promotes
/// the first queued turn if `promote` is set, but never to a node that is marked as dead or unknown.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishTurn {
    /// The tenant.
    pub tenant: TenantId,
    /// The turn.
    pub turn_id: TurnId,
    /// The conversation of the turn.
    pub conversation_id: ConversationId,
    /// The node that ran the turn: the fencing token.
    pub node: NodeId,
    /// The end of the turn.
    pub ending: TurnEnding,
    /// The model's reasoning, for those who see it.
    pub reasoning: Option<Reasoning>,
    /// The actor and time of its event.
    pub stamp: Stamp,
    /// `true` if the first queued turn may be promoted to this node; a draining node sets `false`.
    pub promote: bool,
}

/// A turn that was queued or has lost its node, and is now in progress under the caller's node id.
#[derive(Debug, Clone, PartialEq)]
pub struct PromotedTurn {
    /// The tenant.
    pub tenant: TenantId,
    /// The turn, in progress.
    pub turn: Turn,
    /// The principal that started the turn.
    pub principal: PrincipalId,
    /// The user that the conversation belongs to.
    pub user_id: Option<String>,
    /// Its messages.
    pub messages: TurnMessages,
    /// The id that the agent's message is going to have; `None` for a turn of an earlier version.
    pub reply_id: Option<MessageId>,
    /// The tools that the client has added, and runs itself.
    pub client_tools: Vec<ClientTool>,
    /// The schema that came with the message, for the reply.
    pub response_schema: Option<ResponseSchema>,
    /// The entries of its journal; empty unless it is resumed, or reports a decision of staff.
    pub journal: Vec<TurnStep>,
}

/// The outcome of a [`FinishTurn`].
#[derive(Debug, Clone, PartialEq)]
pub enum FinishOutcome {
    /// The end is stored.
    Finished {
        /// The positions of its events, including the start of the promoted turn. If the same end
        /// had been stored before, they are no longer known: then this is the empty range after the
        /// current head (`first` is one more than `last`).
        committed: Committed,
        /// The turn that was promoted; also returned by a repeated call while that turn is running.
        promoted: Option<Box<PromotedTurn>>,
    },
    /// Nothing was written: the turn is not in progress under this node id (any more).
    NotOwned,
}

/// The outcome of a cancellation.
#[derive(Debug, Clone, PartialEq)]
pub enum CancelOutcome {
    /// This call ended the turn.
    Cancelled {
        /// The positions of its events, including the start of the promoted turn.
        committed: Committed,
        /// The turn that was promoted.
        promoted: Option<Box<PromotedTurn>>,
    },
    /// The turn had ended before.
    AlreadyFinal,
    /// The turn does not exist.
    NotFound,
}
