//! The cancellation of a turn.

use std::sync::Arc;

use domain::{FinishReason, MessageId, PrincipalId, Stamp};
use writes::{CancelOutcome, CancelTurn, Reply};

use super::TurnError;
use crate::{
    chat::{ChatContext, TurnRunner},
    engines::{OpenCallStatus, PartialReply},
    live_turns::{LiveTurn, TurnOutcome},
    pauses::Pauses,
};

/// A cancellation of a turn. It runs in a task of its own, so that the turn that it promotes runs
/// even if the caller drops the request meanwhile.
pub(super) struct Cancellation {
    context: Arc<ChatContext>,
    runner: Arc<TurnRunner>,
    live: Arc<LiveTurn>,
    /// The id of the message that stores the partial reply.
    message_id: MessageId,
    stamp: Stamp,
}

impl Cancellation {
    /// Creates a cancellation by `actor`. `reply_id` is the id that the turn's reply was to have.
    pub(super) fn new(
        context: &Arc<ChatContext>,
        runner: &Arc<TurnRunner>,
        live: Arc<LiveTurn>,
        reply_id: Option<MessageId>,
        actor: &PrincipalId,
    ) -> Self {
        let ports = &context.ports;
        Self {
            context: Arc::clone(context),
            runner: Arc::clone(runner),
            live,
            message_id: reply_id.unwrap_or_else(|| MessageId::new(ports.ids.next_id())),
            stamp: Stamp {
                time: ports.clock.now(),
                actor: actor.clone(),
            },
        }
    }

    pub(super) async fn run(self) -> Result<(), TurnError> {
        let (node, subject) = (self.runner.promotes_to(), self.live.subject());
        let held = self.live.hold_text();
        self.context.forwarded.send_last_parts(&self.live);
        let (partial, reasoning) = match self.live.local_node() {
            Some(_) => {
                let reasoning = held.reasoning.to_stored();
                (partial_reply(self.message_id, held), reasoning)
            }
            // The node that runs the turn may have sent more of the reply to clients.
            None => (None, None),
        };
        let cancel = CancelTurn {
            tenant: subject.tenant.clone(),
            turn_id: subject.turn_id,
            conversation_id: subject.conversation_id,
            partial,
            reasoning,
            node,
            stamp: self.stamp.clone(),
        };
        match self.context.ports.writes.write(cancel).await {
            Ok(CancelOutcome::Cancelled { promoted, .. }) => {
                self.live.end(TurnOutcome::Cancelled);
                self.live.stop();
                if let (Some(promoted), Some(node)) = (promoted, node) {
                    self.runner.run_promoted(*promoted, node);
                }
                Ok(())
            }
            Ok(CancelOutcome::AlreadyFinal) => {
                self.live.release_text();
                Ok(())
            }
            Ok(CancelOutcome::NotFound) => {
                self.live.release_text();
                Err(TurnError::NotFound)
            }
            Err(error) => {
                if error.is_retryable() {
                    // The cancellation may be stored despite the error.
                    let background = self.context.background.clone();
                    background.spawn(self.resolve_doubt());
                } else {
                    self.live.release_text();
                }
                Err(error.into())
            }
        }
    }

    /// Reads the turn until the store responds, to learn whether the cancellation was stored. Later
    /// text of the turn is withheld meanwhile.
    async fn resolve_doubt(self) {
        let (stopped, subject) = (self.live.stopped(), self.live.subject());
        let mut pauses = Pauses::default();
        // A turn that does not run here produces no text, and its waiters poll the store.
        while stopped.run_until_cancelled(pauses.wait()).await.is_some()
            && self.live.local_node().is_some()
        {
            let turns = &self.context.ports.turns;
            let found = turns.find(&subject.tenant, subject.turn_id).await;
            match found.map(|found| found.value) {
                Ok(Some(found)) if !found.turn.status.is_final() => break,
                Ok(_) => {
                    let live = &self.context.live;
                    return live.on_remote_change(subject.turn_id, true);
                }
                Err(error) if error.is_retryable() => {}
                Err(error) => {
                    tracing::warn!(
                        error = ports::error::one_line(&error),
                        turn = %subject.turn_id,
                        "cannot read if a turn was cancelled; the turn continues"
                    );
                    break;
                }
            }
        }
        if !stopped.is_cancelled() {
            self.live.release_text();
        }
    }
}

/// Returns the partial reply of the engine as a reply to store; `None` if there is nothing of it.
fn partial_reply(message_id: MessageId, partial: PartialReply) -> Option<Reply> {
    let requests = partial.requests.to_models();
    (!partial.is_empty() || !requests.is_empty()).then(|| Reply {
        message_id,
        tool_calls: partial.tool_calls(OpenCallStatus::Cut),
        content: partial.text,
        engine: partial.engine,
        model: partial.requests.model(),
        degraded: partial.degraded,
        finish_reason: FinishReason::Cancelled,
        output: None,
        repaired: false,
        usage: partial.requests.usage(),
        requests,
    })
}
