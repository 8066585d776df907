//! Turns: read and cancel.

use std::sync::Arc;

use domain::{AsOf, FinishReason, MessageId, Principal, Stamp, TenantId, Turn, TurnId};
use ports::{CancelOutcome, Clock, IdSource, Reply, RepositoryError, TurnRepository};
use tokio::task::JoinError;

use crate::chat::{Asked, LiveTurn, TurnOutcome, TurnRunner};

/// Why a use case of turns was refused.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// There is no such turn that the caller may know of.
    #[error("no such turn")]
    NotFound,
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

/// The end of a turn from outside. It is carried out in a task of its own: what it promotes is run
/// also when who asked for it has gone in between.
struct Cancellation {
    turns: Arc<dyn TurnRepository>,
    runner: Arc<TurnRunner>,
    tenant: TenantId,
    id: TurnId,
    partial: Option<Reply>,
    stamp: Stamp,
}

impl Cancellation {
    async fn carry_out(self) -> Result<(), TurnError> {
        let node = self.runner.promotes_to();
        let cancelled =
            self.turns
                .cancel_turn(&self.tenant, self.id, self.partial, node, &self.stamp);
        match cancelled.await? {
            CancelOutcome::Cancelled { promoted, .. } => {
                // It may have begun to run here since.
                if let Some(live) = self.runner.live().get(self.id) {
                    live.end(TurnOutcome::Cancelled);
                    live.stop();
                }
                if let (Some(promoted), Some(node)) = (promoted, node) {
                    self.runner.run_promoted(*promoted, node);
                }
                Ok(())
            }
            CancelOutcome::AlreadyFinal => Ok(()),
            CancelOutcome::NotFound => Err(TurnError::NotFound),
        }
    }
}

/// Turns: read and cancel.
pub struct TurnService {
    turns: Arc<dyn TurnRepository>,
    runner: Arc<TurnRunner>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

impl TurnService {
    /// A service over these ports; `runner` knows the turns of this process.
    pub fn new(
        turns: Arc<dyn TurnRepository>,
        runner: Arc<TurnRunner>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
    ) -> Self {
        Self {
            turns,
            runner,
            clock,
            ids,
        }
    }

    /// Reads a turn.
    pub async fn get(&self, caller: &Principal, id: TurnId) -> Result<AsOf<Turn>, TurnError> {
        let found = self.turns.find(&caller.tenant, id).await?;
        let turn = found
            .value
            .filter(|found| caller.may_reach(found.user_id.as_deref()))
            .ok_or(TurnError::NotFound)?;
        Ok(AsOf {
            value: turn.turn,
            position: found.position,
        })
    }

    /// The turn of a chat: what was just stored is not read back.
    pub async fn asked(&self, caller: &Principal, asked: Asked) -> Result<Turn, TurnError> {
        let id = asked.turn_id;
        match asked.into_turn() {
            Some(turn) => Ok(turn),
            None => Ok(self.get(caller, id).await?.value),
        }
    }

    /// Ends a queued or running turn. What its engine had said so far is kept; a turn that has
    /// ended before is answered as it is.
    pub async fn cancel(&self, caller: &Principal, id: TurnId) -> Result<Turn, TurnError> {
        let turn = self.get(caller, id).await?.value;
        if turn.status.is_final() {
            return Ok(turn);
        }
        let live = self.runner.live().get(id);
        let cancellation = Cancellation {
            turns: Arc::clone(&self.turns),
            runner: Arc::clone(&self.runner),
            tenant: caller.tenant.clone(),
            id,
            partial: live.and_then(|live| self.partial_reply(&live)),
            stamp: Stamp {
                time: self.clock.now(),
                actor: caller.id.clone(),
            },
        };
        let lost = |error: JoinError| RepositoryError::Unavailable(error.into());
        self.runner
            .in_background(cancellation.carry_out())
            .await
            .map_err(lost)??;
        Ok(self.get(caller, id).await?.value)
    }

    /// What the engine has said so far, to be kept.
    fn partial_reply(&self, live: &LiveTurn) -> Option<Reply> {
        let said = live.progress().said.clone();
        let tool_calls = said.tool_calls();
        (!said.text.is_empty()).then(|| Reply {
            message_id: MessageId::new(self.ids.next_id()),
            content: said.text,
            engine: said.engine,
            degraded: said.degraded,
            finish_reason: FinishReason::Cancelled,
            usage: None,
            tool_calls,
        })
    }
}
