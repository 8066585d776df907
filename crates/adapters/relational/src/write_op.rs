//! The writes that are committed in groups, and their outcomes.

use domain::{ConversationId, IdempotencyEntry, TenantId, TurnId};
use ports::{
    BeginOutcome, BeginTurn, CompletedTurn, ConversationTarget, FinishOutcome, FinishTurn,
    RecordTurnOutcome, RepositoryError,
};

use crate::facts::RecordKey;

/// A call of a port whose write is committed together with others.
#[derive(Debug, Clone)]
pub enum WriteOp {
    /// `TurnRepository::record_completed_turn`.
    CompletedTurn(Box<CompletedTurn>),
    /// `TurnRepository::begin_turn`.
    Begin(Box<BeginTurn>),
    /// `TurnRepository::finish_turn`.
    Finish(Box<FinishTurn>),
}

impl WriteOp {
    /// The tenant that owns the data.
    pub fn tenant(&self) -> &TenantId {
        match self {
            Self::CompletedTurn(completed_turn) => &completed_turn.begin.tenant,
            Self::Begin(begin) => &begin.tenant,
            Self::Finish(finish) => &finish.tenant,
        }
    }

    /// The conversation of the turn.
    pub fn conversation_id(&self) -> ConversationId {
        match self {
            Self::CompletedTurn(completed_turn) => completed_turn.begin.target.id(),
            Self::Begin(begin) => begin.target.id(),
            Self::Finish(finish) => finish.conversation_id,
        }
    }

    /// The turn that begins or ends.
    pub fn turn_id(&self) -> TurnId {
        match self {
            Self::CompletedTurn(completed_turn) => completed_turn.begin.turn_id,
            Self::Begin(begin) => begin.turn_id,
            Self::Finish(finish) => finish.turn_id,
        }
    }

    /// The start of the turn, unless this write ends a turn.
    pub fn begin_turn(&self) -> Option<&BeginTurn> {
        match self {
            Self::CompletedTurn(completed_turn) => Some(&completed_turn.begin),
            Self::Begin(begin) => Some(begin),
            Self::Finish(_) => None,
        }
    }

    /// Whether it creates its conversation.
    pub fn creates_conversation(&self) -> bool {
        let target = self.begin_turn().map(|begin| &begin.target);
        matches!(target, Some(ConversationTarget::New(_)))
    }

    /// Its idempotency claim.
    pub fn idempotency(&self) -> Option<&IdempotencyEntry> {
        self.begin_turn()?.idempotency.as_ref()
    }

    /// The key of its idempotency claim.
    pub fn idempotency_key(&self) -> Option<RecordKey> {
        self.idempotency()
            .map(|idempotency| RecordKey::new(self.tenant(), idempotency))
    }
}

/// The outcome of a [`WriteOp`].
#[derive(Debug, PartialEq)]
pub enum WriteOutcome {
    /// The outcome of a [`WriteOp::CompletedTurn`].
    CompletedTurn(RecordTurnOutcome),
    /// The outcome of a [`WriteOp::Begin`].
    Begin(BeginOutcome),
    /// The outcome of a [`WriteOp::Finish`].
    Finish(FinishOutcome),
}

impl WriteOutcome {
    /// Whether the write was applied as requested.
    pub const fn is_applied(&self) -> bool {
        matches!(
            self,
            Self::CompletedTurn(RecordTurnOutcome::Recorded { .. })
                | Self::Begin(BeginOutcome::Started { .. } | BeginOutcome::Queued(_))
                | Self::Finish(FinishOutcome::Finished { .. })
        )
    }
}

/// The outcomes of a batch: one for each write, in the same order.
pub type Outcomes = Vec<Result<WriteOutcome, RepositoryError>>;
