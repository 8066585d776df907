//! Turns in a store: the hot path of the service.

use async_trait::async_trait;
use domain::{
    AgentId, AsOf, Conversation, ConversationId, FinishReason, IdempotencyClaim, IdempotencyRecord,
    MessageId, NodeId, PrincipalId, Problem, Stamp, TenantId, Timestamp, ToolCall, Turn, TurnId,
    Usage, admission::OnBusy, config::Metadata,
};

use crate::{Committed, RepositoryError};

mod as_turn;

/// The conversation a turn takes place in.
#[derive(Debug, Clone, PartialEq)]
pub enum ExchangeTarget {
    /// A conversation that the same transaction makes (its `message_count` is 0).
    New(Conversation),
    /// One that exists, with the number of turns the caller assumed it to have started.
    Existing {
        /// The conversation.
        id: ConversationId,
        /// Turns started so far, as the caller saw them.
        turn_count: i64,
    },
}

impl ExchangeTarget {
    /// The conversation's id.
    pub const fn id(&self) -> ConversationId {
        match self {
            Self::New(conversation) => conversation.id,
            Self::Existing { id, .. } => *id,
        }
    }
}

/// The question of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct BeginTurn {
    /// Whose data.
    pub tenant: TenantId,
    /// The new turn.
    pub turn_id: TurnId,
    /// The id that the user's message gets when the turn starts.
    pub message_id: MessageId,
    /// Where it takes place.
    pub target: ExchangeTarget,
    /// Who answers.
    pub agent_id: AgentId,
    /// The agent's version, as the caller saw it.
    pub agent_version: i64,
    /// The user's text.
    pub input: String,
    /// String pairs of the client's own.
    pub metadata: Metadata,
    /// Who asks, and when.
    pub stamp: Stamp,
    /// The process that will run it: the fencing token.
    pub node: NodeId,
    /// What to do when something runs or waits.
    pub on_busy: OnBusy,
    /// The request's idempotency key.
    pub claim: Option<IdempotencyClaim>,
    /// Whether the caller knows where the turn took place that gave the key back: then it means
    /// what `target` says, also when that is a new conversation.
    pub goes_on: bool,
}

/// An answer that an engine gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The id of the agent's message.
    pub message_id: MessageId,
    /// What the agent says.
    pub content: String,
    /// The engine that answered.
    pub engine: String,
    /// Whether a fallback answered.
    pub degraded: bool,
    /// Why the answer ended.
    pub finish_reason: FinishReason,
    /// Tokens, where the engine counts them.
    pub usage: Option<Usage>,
    /// Tools that were called.
    pub tool_calls: Vec<ToolCall>,
}

/// A whole turn of an engine that answers at once: question and answer in one write.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// The question; its `on_busy` and `node` are not used.
    pub question: BeginTurn,
    /// The answer.
    pub reply: Reply,
    /// When the answer was there.
    pub finished_at: Timestamp,
}

/// What became of an exchange.
#[derive(Debug, Clone, PartialEq)]
pub enum ExchangeOutcome {
    /// It is stored.
    Recorded {
        /// Positions of its events.
        committed: Committed,
        /// `seq` of the user's message in the conversation; the agent's is the next.
        message_seq: i64,
    },
    /// Nothing was written: the key was used before. If the turn gave it back since, the record
    /// tells where to go on.
    Repeated(IdempotencyRecord),
    /// Nothing was written: a turn runs or waits in the conversation.
    Busy,
    /// Nothing was written: there is no such agent.
    AgentNotFound,
    /// Nothing was written: there is no such conversation of this agent.
    ConversationNotFound,
}

/// What became of a turn that asked to begin.
#[derive(Debug, Clone, PartialEq)]
pub enum BeginOutcome {
    /// It runs, under the caller's node id.
    Started {
        /// Positions of its events.
        committed: Committed,
        /// `seq` of the user's message in the conversation.
        message_seq: i64,
        /// The number of this turn in its conversation, from 0.
        turn_number: i64,
    },
    /// It waits; its place is the `seq` of its `turn.queued` event.
    Queued(Committed),
    /// Nothing was written: the key was used before. If the turn gave it back since, the record
    /// tells where to go on.
    Repeated(IdempotencyRecord),
    /// Nothing was written: something runs or waits and it was to be refused, or the queue is full.
    Busy,
    /// Nothing was written: there is no such agent.
    AgentNotFound,
    /// Nothing was written: there is no such conversation of this agent.
    ConversationNotFound,
    /// Nothing was written: the caller's node is marked as dead or unknown; it must go on under a
    /// new id.
    NodeRefused,
}

/// How a running turn ends.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEnding {
    /// With an answer.
    Completed(Reply),
    /// Without one.
    Failed {
        /// Why; one that is retryable gives the turn's idempotency key back.
        problem: Problem,
        /// Tools that were called before.
        tool_calls: Vec<ToolCall>,
    },
}

impl TurnEnding {
    /// The end of a turn that has no answer and called no tools.
    pub const fn failed(problem: Problem) -> Self {
        Self::Failed {
            problem,
            tool_calls: Vec::new(),
        }
    }
}

/// The end of a turn that this node ran.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishTurn {
    /// Whose data.
    pub tenant: TenantId,
    /// The turn.
    pub turn_id: TurnId,
    /// The conversation it takes place in.
    pub conversation_id: ConversationId,
    /// The process that ran it: the fencing token.
    pub node: NodeId,
    /// How it ended.
    pub ending: TurnEnding,
    /// Who is named in its event, and when it ended.
    pub stamp: Stamp,
    /// Whether the first turn that waits may be promoted to this node; a draining node says no.
    pub promote: bool,
}

/// A turn that waited and now runs under the caller's node id.
#[derive(Debug, Clone, PartialEq)]
pub struct PromotedTurn {
    /// Whose data.
    pub tenant: TenantId,
    /// The turn, in progress.
    pub turn: Turn,
    /// Who asked.
    pub principal: PrincipalId,
    /// The person the conversation belongs to.
    pub user_id: Option<String>,
    /// The user's message.
    pub message_id: MessageId,
    /// `seq` of the user's message in the conversation.
    pub message_seq: i64,
    /// The number of this turn in its conversation, from 0.
    pub turn_number: i64,
}

/// What became of the end of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum FinishOutcome {
    /// It is stored.
    Finished {
        /// Positions of its events, the promoted turn's start included. When an end is told
        /// again that was stored before, they are not known any more: then they are the empty
        /// range behind the present head (`first` is one more than `last`).
        committed: Committed,
        /// The turn that starts in its place; told again with the end as long as it runs.
        promoted: Option<Box<PromotedTurn>>,
    },
    /// Nothing was written: the turn is no longer in progress under this node's id.
    Refused,
}

/// What became of a cancellation.
#[derive(Debug, Clone, PartialEq)]
pub enum CancelOutcome {
    /// This call ended the turn.
    Cancelled {
        /// Positions of its events, the promoted turn's start included.
        committed: Committed,
        /// The turn that starts in its place.
        promoted: Option<Box<PromotedTurn>>,
    },
    /// The turn had reached its end before.
    AlreadyFinal,
    /// There is no such turn.
    NotFound,
}

/// A turn and whose it is.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundTurn {
    /// The turn.
    pub turn: Turn,
    /// The id that the user's message has, or gets when the turn starts.
    pub message_id: MessageId,
    /// Who started it.
    pub principal: PrincipalId,
    /// The person its conversation belongs to.
    pub user_id: Option<String>,
}

/// Turns in a store. `record_exchange`, `begin_turn` and `finish_turn` are committed in groups:
/// the outcome of each MUST be as if it were a transaction of its own, a bad one MUST fail alone,
/// and one whose commit got no answer MUST be repeated until its outcome is known, without ever
/// taking effect twice or being refused because of its own rows.
///
/// A key that its turn gave back (`IdempotencyRecord::released_into`) is free: the next question
/// takes it over. But one that repeats the command, would make a conversation and does not
/// [go on](BeginTurn::goes_on) MUST be answered `Repeated`, so that its caller goes on in the
/// conversation of that turn.
#[async_trait]
pub trait TurnRepository: Send + Sync {
    /// Stores a whole turn, completed: the conversation if it is new (with
    /// `conversation.created`), the turn, both messages, the events `turn.started` and
    /// `turn.completed`, and the claim, in one transaction. The key MUST be judged before all
    /// else, then whether agent and conversation exist, then `Busy`. MUST answer `Stale` and write
    /// nothing when the agent's version or the conversation's turn count differ from what was
    /// assumed.
    async fn record_exchange(&self, exchange: Exchange)
    -> Result<ExchangeOutcome, RepositoryError>;

    /// Begins a turn. MUST decide by `domain::admission::admit` under the tenant's lock: start it
    /// (turn in progress, the user's message, `turn.started`), queue it (turn queued,
    /// `turn.queued`, no message), or refuse it; a new conversation and the claim go with it. The
    /// key MUST be judged before all else, then `Stale` as in [`Self::record_exchange`] for a turn
    /// that would start.
    async fn begin_turn(&self, begin: BeginTurn) -> Result<BeginOutcome, RepositoryError>;

    /// Ends a running turn with its answer (turn completed, the agent's message,
    /// `turn.completed`) or without (turn failed, `turn.failed`; a retryable problem gives the
    /// idempotency key back: its record names the conversation instead of the turn), and either
    /// way with the tools that were called. MUST write nothing unless the turn is in progress under `node`. MUST
    /// answer `Finished` again, and write nothing, when the turn has ended in this very way under
    /// `node`: a caller that was told `Unavailable` repeats the call, and its end may be stored. MUST
    /// promote the first turn that waits, if any and if allowed, in the same transaction; but to
    /// no node that is marked as dead or unknown, here and in [`Self::cancel_turn`].
    async fn finish_turn(&self, finish: FinishTurn) -> Result<FinishOutcome, RepositoryError>;

    /// Ends a queued or running turn from outside, with `turn.cancelled`. When a running one ends,
    /// MUST promote the first that waits to `node`, if given, in the same transaction. `partial`
    /// is what the engine had said so far: if the turn was running, its text is kept as the
    /// agent's message where there is any, and the tools that were called are kept with the turn.
    async fn cancel_turn(
        &self,
        tenant: &TenantId,
        id: TurnId,
        partial: Option<Reply>,
        node: Option<NodeId>,
        stamp: &Stamp,
    ) -> Result<CancelOutcome, RepositoryError>;

    /// Finds a turn, with a position of the log not later than the state it read. Of a deleted agent
    /// or conversation, only turns that the deletion itself cancelled MUST be found, until they are
    /// purged.
    async fn find(
        &self,
        tenant: &TenantId,
        id: TurnId,
    ) -> Result<AsOf<Option<FoundTurn>>, RepositoryError>;
}
