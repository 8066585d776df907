//! Answers to the tool calls of a turn that waits for them.

use std::sync::Arc;

use domain::{Principal, ProblemCode, Stamp, TurnId};
use ports::RepositoryError;
use writes::{AnswerOutcome, AnswerTurn, CallAnswer};

use super::{TurnError, TurnService};
use crate::{chat::AcceptedTurn, live_turns::TurnWaiter};

/// The number of attempts with a node id that was found to be dead.
const ATTEMPTS: usize = 3;

impl TurnService {
    /// Answers tool calls of a waiting turn: all of them, or none. With the last answer the turn goes on
    /// here, and its events continue those from before.
    pub async fn answer(
        &self,
        caller: &Principal,
        id: TurnId,
        answers: Vec<CallAnswer>,
    ) -> Result<AcceptedTurn, TurnError> {
        let conversation_id = self.find(caller, id).await?.value.turn.conversation_id;
        for _ in 0..ATTEMPTS {
            let node = self.runner.promotes_to();
            let node = node.ok_or(TurnError::Unavailable(ProblemCode::Draining))?;
            let answer = AnswerTurn {
                tenant: caller.tenant.clone(),
                turn_id: id,
                conversation_id,
                answers: answers.clone(),
                node,
                stamp: Stamp {
                    time: self.context.ports.clock.now(),
                    actor: caller.id.clone(),
                },
            };
            match self.context.ports.writes.write(answer).await? {
                AnswerOutcome::Stored {
                    resumed: Some(turn),
                    ..
                } => {
                    let live = self.runner.run_promoted(*turn, node);
                    let waiter = TurnWaiter::new(live, Arc::clone(&self.context.ports.turns));
                    return Ok(AcceptedTurn::continued(waiter, caller.audience()));
                }
                AnswerOutcome::Stored { resumed: None, .. } | AnswerOutcome::Repeated => {
                    return self.follow(caller, id).await;
                }
                AnswerOutcome::Rejected { index, reason } => {
                    return Err(TurnError::Answer { index, reason });
                }
                AnswerOutcome::NotFound => return Err(TurnError::NotFound),
                AnswerOutcome::NodeDead => self.context.node.renew_identity(node).await?,
            }
        }
        let reason = "this node is marked as dead again and again";
        Err(RepositoryError::Unavailable(reason.into()).into())
    }

    /// Follows a turn from its beginning.
    async fn follow(&self, caller: &Principal, id: TurnId) -> Result<AcceptedTurn, TurnError> {
        let found = self.find(caller, id).await?.value;
        let turn = found.turn.clone();
        let live = self
            .context
            .live
            .get_or_register_found(&caller.tenant, found);
        let waiter = TurnWaiter::new(live, Arc::clone(&self.context.ports.turns));
        Ok(AcceptedTurn::replayed(
            waiter,
            Some(turn),
            caller.audience(),
        ))
    }
}
