//! The calls of `TurnRepository` that go through a group commit.

use ports::{
    BeginOutcome, BeginTurn, Exchange, ExchangeOutcome, FinishOutcome, FinishTurn, RepositoryError,
};

use crate::{GroupCommit, Item, Outcome};

impl GroupCommit {
    /// `TurnRepository::record_exchange`.
    pub async fn record_exchange(
        &self,
        exchange: Exchange,
    ) -> Result<ExchangeOutcome, RepositoryError> {
        match self.submit(Item::Exchange(Box::new(exchange))).await? {
            Outcome::Exchange(outcome) => Ok(outcome),
            other => Err(mismatch(&other)),
        }
    }

    /// `TurnRepository::begin_turn`.
    pub async fn begin_turn(&self, begin: BeginTurn) -> Result<BeginOutcome, RepositoryError> {
        match self.submit(Item::Begin(Box::new(begin))).await? {
            Outcome::Begin(outcome) => Ok(outcome),
            other => Err(mismatch(&other)),
        }
    }

    /// `TurnRepository::finish_turn`.
    pub async fn finish_turn(&self, finish: FinishTurn) -> Result<FinishOutcome, RepositoryError> {
        match self.submit(Item::Finish(Box::new(finish))).await? {
            Outcome::Finish(outcome) => Ok(outcome),
            other => Err(mismatch(&other)),
        }
    }
}

/// An item got the outcome of another kind: a mistake in this crate, told instead of guessed at.
fn mismatch(outcome: &Outcome) -> RepositoryError {
    let kind = match outcome {
        Outcome::Exchange(_) => "exchange",
        Outcome::Begin(_) => "begin",
        Outcome::Finish(_) => "finish",
    };
    RepositoryError::Corrupt {
        what: "the outcome of a batch".to_owned(),
        source: format!("an outcome of kind '{kind}' for an item of another kind").into(),
    }
}
