//! Turns in a store: the hot path of the service.

use async_trait::async_trait;
use domain::{AsOf, ConversationId, Listed, NodeId, Page, Stamp, TenantId, Turn, TurnId};

use crate::RepositoryError;

mod as_turn;
mod begin;
mod end;
mod query;

pub use begin::{
    AnsweredMessage, BeginOutcome, BeginTurn, CompletedTurn, ConversationTarget, RecordTurnOutcome,
    Reply, Supersession, TurnMessages,
};
pub use end::{CancelOutcome, FinishOutcome, FinishTurn, PromotedTurn, TurnEnding};
pub use query::{FoundTurn, TurnFilter, TurnQuery};

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
