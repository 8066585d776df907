//! Turns: read and cancel.

use std::sync::Arc;

use domain::{AsOf, FinishReason, MessageId, Principal, Stamp, Turn, TurnId};
use ports::{CancelOutcome, Clock, IdSource, Reply, RepositoryError, TurnRepository};

use crate::chat::RunningTurns;

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

/// Turns: read and cancel.
pub struct TurnService {
    turns: Arc<dyn TurnRepository>,
    running: Arc<RunningTurns>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

impl TurnService {
    /// A service over these ports, which knows the turns that run in this process.
    pub fn new(
        turns: Arc<dyn TurnRepository>,
        running: Arc<RunningTurns>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
    ) -> Self {
        Self {
            turns,
            running,
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

    /// Ends a queued or running turn. What its engine had said so far is kept; a turn that has
    /// ended before is answered as it is.
    pub async fn cancel(&self, caller: &Principal, id: TurnId) -> Result<Turn, TurnError> {
        let turn = self.get(caller, id).await?.value;
        if turn.status.is_final() {
            return Ok(turn);
        }
        let running = self.running.get(id);
        let partial = running.as_ref().and_then(|running| {
            let said = running.said().clone();
            (!said.text.is_empty()).then(|| Reply {
                message_id: MessageId::new(self.ids.next_id()),
                content: said.text,
                engine: said.engine,
                degraded: said.degraded,
                finish_reason: FinishReason::Cancelled,
                usage: None,
                tool_calls: Vec::new(),
            })
        });
        let stamp = Stamp {
            time: self.clock.now(),
            actor: caller.id.clone(),
        };
        match self
            .turns
            .cancel_turn(&caller.tenant, id, partial, None, &stamp)
            .await?
        {
            CancelOutcome::Cancelled { .. } => {
                if let Some(running) = running {
                    running.stop.cancel();
                }
            }
            CancelOutcome::AlreadyFinal => {}
            CancelOutcome::NotFound => return Err(TurnError::NotFound),
        }
        Ok(self.get(caller, id).await?.value)
    }
}
