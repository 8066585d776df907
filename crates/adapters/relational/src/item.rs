//! What is committed in groups, and what becomes of it.

use domain::{ConversationId, IdempotencyClaim, TenantId, TurnId};
use ports::{
    BeginOutcome, BeginTurn, Exchange, ExchangeOutcome, FinishOutcome, FinishTurn, RepositoryError,
};

use crate::facts::ClaimKey;

/// One call of a port that is committed together with others.
#[derive(Debug, Clone)]
pub enum Item {
    /// `TurnRepository::record_exchange`.
    Exchange(Box<Exchange>),
    /// `TurnRepository::begin_turn`.
    Begin(Box<BeginTurn>),
    /// `TurnRepository::finish_turn`.
    Finish(Box<FinishTurn>),
}

impl Item {
    /// Whose data it changes.
    pub fn tenant(&self) -> &TenantId {
        match self {
            Self::Exchange(exchange) => &exchange.question.tenant,
            Self::Begin(begin) => &begin.tenant,
            Self::Finish(finish) => &finish.tenant,
        }
    }

    /// The conversation it takes place in.
    pub fn conversation_id(&self) -> ConversationId {
        match self {
            Self::Exchange(exchange) => exchange.question.target.id(),
            Self::Begin(begin) => begin.target.id(),
            Self::Finish(finish) => finish.conversation_id,
        }
    }

    /// The turn it begins or ends.
    pub fn turn_id(&self) -> TurnId {
        match self {
            Self::Exchange(exchange) => exchange.question.turn_id,
            Self::Begin(begin) => begin.turn_id,
            Self::Finish(finish) => finish.turn_id,
        }
    }

    /// The question that it stores, if it stores one.
    pub fn question(&self) -> Option<&BeginTurn> {
        match self {
            Self::Exchange(exchange) => Some(&exchange.question),
            Self::Begin(begin) => Some(begin),
            Self::Finish(_) => None,
        }
    }

    /// Its idempotency claim.
    pub fn claim(&self) -> Option<&IdempotencyClaim> {
        self.question()?.claim.as_ref()
    }

    /// The key of its idempotency claim.
    pub fn claim_key(&self) -> Option<ClaimKey> {
        self.claim().map(|claim| ClaimKey::of(self.tenant(), claim))
    }
}

/// What became of an item.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// Of an [`Item::Exchange`].
    Exchange(ExchangeOutcome),
    /// Of an [`Item::Begin`].
    Begin(BeginOutcome),
    /// Of an [`Item::Finish`].
    Finish(FinishOutcome),
}

/// What each item of a batch gets: one answer an item, in their order.
pub type Outcomes = Vec<Result<Outcome, RepositoryError>>;
