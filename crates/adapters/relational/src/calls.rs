//! The calls of ports whose writes are committed in groups.

use ports::{
    BeginOutcome, BeginTurn, Committed, CompletedTurn, FinishOutcome, FinishTurn, Idempotent,
    RecordTurnOutcome, RepositoryError,
};

use crate::{CreateAgent, CreateConversation, GroupCommit, WriteOp, WriteOutcome};

impl GroupCommit {
    /// `TurnRepository::record_completed_turn`.
    pub async fn record_completed_turn(
        &self,
        completed_turn: CompletedTurn,
    ) -> Result<RecordTurnOutcome, RepositoryError> {
        match self
            .submit(WriteOp::CompletedTurn(Box::new(completed_turn)))
            .await?
        {
            WriteOutcome::CompletedTurn(outcome) => Ok(outcome),
            other => Err(mismatch(&other)),
        }
    }

    /// `TurnRepository::begin_turn`.
    pub async fn begin_turn(&self, begin: BeginTurn) -> Result<BeginOutcome, RepositoryError> {
        match self.submit(WriteOp::Begin(Box::new(begin))).await? {
            WriteOutcome::Begin(outcome) => Ok(outcome),
            other => Err(mismatch(&other)),
        }
    }

    /// `TurnRepository::finish_turn`.
    pub async fn finish_turn(&self, finish: FinishTurn) -> Result<FinishOutcome, RepositoryError> {
        match self.submit(WriteOp::Finish(Box::new(finish))).await? {
            WriteOutcome::Finish(outcome) => Ok(outcome),
            other => Err(mismatch(&other)),
        }
    }

    /// `AgentRepository::insert`.
    pub async fn create_agent(
        &self,
        create: CreateAgent,
    ) -> Result<Idempotent<Committed>, RepositoryError> {
        match self.submit(WriteOp::CreateAgent(Box::new(create))).await? {
            WriteOutcome::CreateAgent(outcome) => Ok(outcome),
            other => Err(mismatch(&other)),
        }
    }

    /// `ConversationRepository::insert`.
    pub async fn create_conversation(
        &self,
        create: CreateConversation,
    ) -> Result<Idempotent<Option<Committed>>, RepositoryError> {
        let op = WriteOp::CreateConversation(Box::new(create));
        match self.submit(op).await? {
            WriteOutcome::CreateConversation(outcome) => Ok(outcome),
            other => Err(mismatch(&other)),
        }
    }
}

/// The error of a write that received the outcome of another kind, which is a bug in this crate.
fn mismatch(outcome: &WriteOutcome) -> RepositoryError {
    let kind = match outcome {
        WriteOutcome::CompletedTurn(_) => "completed turn",
        WriteOutcome::Begin(_) => "begin",
        WriteOutcome::Finish(_) => "finish",
        WriteOutcome::CreateAgent(_) => "create agent",
        WriteOutcome::CreateConversation(_) => "create conversation",
    };
    RepositoryError::Corrupt {
        what: "the outcome of a batch".to_owned(),
        source: format!("a write of another kind received an outcome of kind '{kind}'").into(),
    }
}
