//! Turns in a store: the hot path of the service.

use async_trait::async_trait;
use domain::{
    AgentId, AsOf, Conversation, ConversationId, FinishReason, IdempotencyEntry, IdempotencyRecord,
    Listed, MessageId, NodeId, Page, PrincipalId, Problem, Seq, Stamp, TenantId, Timestamp,
    ToolCall, Turn, TurnId, TurnStatus, Usage, admission::OnBusy, config::Metadata,
};

use crate::{Committed, ListingOrder, RepositoryError};

mod as_turn;

/// The conversation of a turn.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is a part of a turn, which is boxed"
)]
pub enum ConversationTarget {
    /// A new conversation, which the same transaction creates (its `message_count` is 0).
    New(Conversation),
    /// An existing conversation.
    Existing {
        /// The conversation's id.
        id: ConversationId,
        /// The number of turns started so far, as the caller assumed it.
        turn_count: i64,
    },
}

impl ConversationTarget {
    /// Returns the conversation's id.
    pub const fn id(&self) -> ConversationId {
        match self {
            Self::New(conversation) => conversation.id,
            Self::Existing { id, .. } => *id,
        }
    }
}

/// A request to begin a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct BeginTurn {
    /// The tenant.
    pub tenant: TenantId,
    /// The id of the new turn.
    pub turn_id: TurnId,
    /// The id of the user's message, which is stored when the turn starts, unless the turn answers
    /// a stored message.
    pub message_id: MessageId,
    /// The id of the agent's message, which is stored when the turn ends.
    pub reply_id: MessageId,
    /// The client's own id of the user's message.
    pub client_message_id: Option<String>,
    /// The messages that the turn replaces. It is then rejected if another turn is running or
    /// queued.
    pub supersession: Option<Supersession>,
    /// The conversation of the turn.
    pub target: ConversationTarget,
    /// The agent that replies.
    pub agent_id: AgentId,
    /// The agent's version, as the caller assumed it.
    pub agent_version: i64,
    /// The user's message.
    pub input: String,
    /// The client's own string pairs.
    pub metadata: Metadata,
    /// The principal that sent the message, and the time.
    pub stamp: Stamp,
    /// The node that will run the turn: the fencing token.
    pub node: NodeId,
    /// The behaviour if another turn is running or queued.
    pub on_busy: OnBusy,
    /// The request's idempotency key.
    pub idempotency: Option<IdempotencyEntry>,
    /// Set if the caller knows the conversation of the turn that released the key. The turn then
    /// begins in `target`, even if that is a new conversation.
    pub is_resumption: bool,
}

/// The messages of a conversation that a new turn replaces: the newest ones that are not
/// superseded. The turn count of [`ConversationTarget::Existing`] proves that they are still the
/// newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Supersession {
    /// The `seq` of the first message that is superseded, with all later ones.
    pub from_seq: i64,
    /// The number of messages before it that are not superseded.
    pub kept: i64,
    /// The stored user message that the turn answers again; it stores a new one if this is `None`.
    pub answered: Option<AnsweredMessage>,
}

/// A stored user message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnsweredMessage {
    /// The message's id.
    pub id: MessageId,
    /// The message's position in the conversation.
    pub seq: i64,
}

/// The messages of a started turn in its conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnPlace {
    /// The user's message.
    pub message: AnsweredMessage,
    /// The `seq` that the agent's message has or is going to have.
    pub reply_seq: i64,
    /// The number of the turn in its conversation, from 0.
    pub turn_number: i64,
    /// The failed turn that it repeats, whose user message it answers.
    pub retry_of: Option<TurnId>,
}

/// A reply as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The id of the agent's message.
    pub message_id: MessageId,
    /// The text of the reply.
    pub content: String,
    /// The engine that produced the reply.
    pub engine: String,
    /// `true` if a fallback engine replied.
    pub degraded: bool,
    /// The reason why the reply ended.
    pub finish_reason: FinishReason,
    /// The token counts, if the engine provides them.
    pub usage: Option<Usage>,
    /// The tool calls of the turn.
    pub tool_calls: Vec<ToolCall>,
}

/// A turn that was answered inline: message and reply in one write.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletedTurn {
    /// The start of the turn; its `on_busy` and `node` are unused.
    pub begin: BeginTurn,
    /// The reply.
    pub reply: Reply,
    /// The time of the reply.
    pub finished_at: Timestamp,
}

/// The outcome of [`TurnRepository::record_completed_turn`].
#[derive(Debug, Clone, PartialEq)]
pub enum RecordTurnOutcome {
    /// The turn is stored.
    Recorded {
        /// The positions of its events.
        committed: Committed,
        /// Its messages.
        place: TurnPlace,
    },
    /// Nothing was written: the key was used before. If its turn has released the key, the record
    /// names the conversation in which to continue.
    Replayed(IdempotencyRecord),
    /// Nothing was written: a turn is running or queued in the conversation.
    Busy,
    /// Nothing was written: the agent does not exist.
    AgentNotFound,
    /// Nothing was written: the agent has no such conversation.
    ConversationNotFound,
}

/// The outcome of [`TurnRepository::begin_turn`].
#[derive(Debug, Clone, PartialEq)]
pub enum BeginOutcome {
    /// The turn is in progress under the caller's node id.
    Started {
        /// The positions of its events.
        committed: Committed,
        /// Its messages.
        place: TurnPlace,
    },
    /// The turn is queued; its position in the queue is the `seq` of its `turn.queued` event.
    Queued(Committed),
    /// Nothing was written: the key was used before. If its turn has released the key, the record
    /// names the conversation in which to continue.
    Replayed(IdempotencyRecord),
    /// Nothing was written: a turn is running or queued and `on_busy` is `Reject`, or the queue is
    /// full.
    Busy,
    /// Nothing was written: the agent does not exist.
    AgentNotFound,
    /// Nothing was written: the agent has no such conversation.
    ConversationNotFound,
    /// Nothing was written: the caller's node is marked as dead or unknown. The caller must
    /// register a new node id.
    NodeDead,
}

/// The end of a running turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEnding {
    /// The turn has a reply.
    Completed(Reply),
    /// The turn has no reply.
    Failed {
        /// The reason; a retryable problem releases the turn's idempotency key.
        problem: Problem,
        /// The tools that were called before the failure.
        tool_calls: Vec<ToolCall>,
    },
}

impl TurnEnding {
    /// Creates the end of a failed turn that called no tools.
    pub const fn failed(problem: Problem) -> Self {
        Self::Failed {
            problem,
            tool_calls: Vec::new(),
        }
    }
}

/// A request to end a turn that this node ran.
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
    /// The actor and time of its event.
    pub stamp: Stamp,
    /// `true` if the first queued turn may be promoted to this node; a draining node sets `false`.
    pub promote: bool,
}

/// A formerly queued turn that is now in progress under the caller's node id.
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
    pub place: TurnPlace,
    /// The id that the agent's message is going to have; `None` for a turn of an earlier version.
    pub reply_id: Option<MessageId>,
}

/// The outcome of [`TurnRepository::finish_turn`].
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
    Refused,
}

/// The outcome of [`TurnRepository::cancel_turn`].
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

/// A stored turn with its owner.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundTurn {
    /// The turn.
    pub turn: Turn,
    /// The id that the user's message has, or gets when the turn starts.
    pub message_id: MessageId,
    /// The id that the agent's message has or is going to have; `None` for a turn of an earlier
    /// version.
    pub reply_id: Option<MessageId>,
    /// The principal that started the turn.
    pub principal: PrincipalId,
    /// The user that the conversation belongs to.
    pub user_id: Option<String>,
}

/// The turns of a conversation that a listing contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnFilter {
    /// All turns.
    All,
    /// Turns that are queued or in progress.
    Open,
    /// Turns with this status.
    Status(TurnStatus),
}

impl TurnFilter {
    /// Returns the name in the API; `None` for all turns.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Open => Some("open"),
            Self::Status(status) => Some(status.as_str()),
        }
    }
}

/// A request for one page of the turns of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnQuery {
    /// The turns to list.
    pub filter: TurnFilter,
    /// The order of the turns.
    pub order: ListingOrder,
    /// The position of the turn after which the page starts; `None` for the start of the order.
    pub after: Option<Seq>,
    /// The maximum number of turns.
    pub limit: usize,
}

/// Turns in a store.
///
/// `record_completed_turn`, `begin_turn` and `finish_turn` are committed in groups. Each MUST have
/// the outcome that it would have in a transaction of its own, and an invalid one MUST fail alone.
/// A write whose commit was not confirmed MUST be repeated until its outcome is known, without ever
/// taking effect twice or being rejected because of its own rows.
///
/// A key that its turn has released (`IdempotencyRecord::released_into` is set) is free: the next
/// message uses it again. The exception is a begin that repeats the same command, would create a
/// conversation and is no [resumption](BeginTurn::is_resumption): it MUST return `Replayed`, so
/// that its caller continues in the conversation of the failed turn.
#[async_trait]
pub trait TurnRepository: Send + Sync {
    /// Stores a whole completed turn in one transaction: the conversation if it is new (with
    /// `conversation.created`), the turn, both messages, the events `turn.started` and
    /// `turn.completed`, and the idempotency entry. MUST check the key before everything else, then
    /// if agent and conversation exist, then if the conversation is busy. MUST return `Stale` and
    /// write nothing if the agent's version or the conversation's turn count differ from the
    /// assumed ones.
    async fn record_completed_turn(
        &self,
        completed: CompletedTurn,
    ) -> Result<RecordTurnOutcome, RepositoryError>;

    /// Begins a turn. MUST decide by `domain::admission::admit` under the tenant's lock: start the
    /// turn (turn in progress, the user's message, `turn.started`), queue it (turn queued,
    /// `turn.queued`, no message), or reject it. A new conversation and the idempotency entry are
    /// stored in the same transaction. MUST check the key before everything else. MUST return
    /// `Stale` as in [`Self::record_completed_turn`] if the turn would start.
    ///
    /// A turn with a [`Supersession`] MUST mark its messages as superseded and write
    /// `messages.superseded` before `turn.started`, in the same transaction. It MUST be rejected as
    /// `Busy` if another turn is running or queued, whatever `on_busy` is. All of this also holds
    /// for [`Self::record_completed_turn`].
    ///
    /// A turn whose key was released by a failed turn of the same command answers the user message
    /// of that turn if it is the newest message that is not superseded, and stores none.
    async fn begin_turn(&self, begin: BeginTurn) -> Result<BeginOutcome, RepositoryError>;

    /// Ends a running turn, either with its reply (turn completed, the agent's message,
    /// `turn.completed`) or as failed (`turn.failed`), in both cases with the tools that were
    /// called. A retryable problem releases the idempotency key: its record then names the
    /// conversation instead of the turn. MUST write nothing unless the turn is in progress under
    /// `node`. MUST return `Finished` again, and write nothing, if the turn has already ended in
    /// exactly this way under `node`: a caller that received `Unavailable` repeats the call, and
    /// its first one may be stored. MUST promote the first queued turn, if one exists and `promote`
    /// is set, in the same transaction. MUST NOT promote to a node that is marked as dead or
    /// unknown, here and in [`Self::cancel_turn`].
    async fn finish_turn(&self, finish: FinishTurn) -> Result<FinishOutcome, RepositoryError>;

    /// Cancels a queued or running turn, with `turn.cancelled`. If the turn was running, MUST
    /// promote the first queued turn to `node`, if given, in the same transaction. `partial` is the
    /// reply up to now: if the turn was running, its text is stored as the agent's message unless
    /// empty, and the tools that were called are stored with the turn.
    async fn cancel_turn(
        &self,
        tenant: &TenantId,
        id: TurnId,
        partial: Option<Reply>,
        node: Option<NodeId>,
        stamp: &Stamp,
    ) -> Result<CancelOutcome, RepositoryError>;

    /// Finds a turn. MUST return a log position that is not later than the state that was read. Of
    /// a deleted agent or conversation, MUST find only the turns that the deletion itself
    /// cancelled, until they are purged.
    async fn find(
        &self,
        tenant: &TenantId,
        id: TurnId,
    ) -> Result<AsOf<Option<FoundTurn>>, RepositoryError>;

    /// Finds the turn that a client of the conversation follows: the running turn, or else the first
    /// queued one, or else the newest. Returns `None` if the conversation has no turns or does not
    /// exist.
    async fn find_current(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
    ) -> Result<Option<FoundTurn>, RepositoryError>;

    /// Lists the turns of a conversation, in the commit order of the transactions that began them. A
    /// page MUST end at about `sizes::PAGE_BYTES` and contain at least one turn if any is left. MUST
    /// return `None` if the conversation does not exist.
    async fn list(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
        query: &TurnQuery,
    ) -> Result<AsOf<Option<Page<Listed<Turn>>>>, RepositoryError>;
}
