//! The start of a turn, which then runs in the background.

use std::{sync::Arc, time::Instant};

use domain::Problem;
use ports::{Idempotent, ModelRequest, RepositoryError};
use writes::BeginOutcome;

use super::{
    ChatContext,
    accepted_turn::{AcceptedTurn, StartedTurn},
    attempt::ChatAttempt,
    attempt_state::AttemptState,
    command::ChatError,
    runner::TurnRunner,
    target::ChatTarget,
    turn_task::TurnTask,
};
use crate::live_turns::TurnWaiter;

/// The start of a turn of an engine that takes time.
pub(super) struct TurnStart {
    pub(super) context: Arc<ChatContext>,
    pub(super) runner: Arc<TurnRunner>,
    pub(super) attempt: Arc<ChatAttempt>,
    pub(super) target: Arc<ChatTarget>,
}

impl TurnStart {
    /// Stores the turn, and runs it once it may.
    pub(super) async fn run(self, failure: Option<Problem>) -> Result<AttemptState, ChatError> {
        let Self {
            context,
            runner,
            attempt,
            target,
        } = self;
        let (store_start, node) = (Instant::now(), context.node.id());
        // Registered before it is stored, so that no cancellation can miss it.
        let live = context.live.get_or_register(attempt.turn_subject(&target));
        let started = |is_queued| StartedTurn {
            attempt: Arc::clone(&attempt),
            target: Arc::clone(&target),
            node,
            is_queued,
            waiter: TurnWaiter::new(Arc::clone(&live), Arc::clone(&context.ports.turns)),
        };
        let begin = attempt.begin_turn(&target, node);
        match context.ports.writes.write(begin).await {
            Ok(BeginOutcome::Started { messages, .. }) => {
                let started = started(false);
                let (message_id, reply_id) = (messages.message.id, attempt.reply_id);
                let shown = (!messages.are_for_staff).then_some(reply_id);
                runner.run(TurnTask {
                    ownership: runner.take_ownership(Arc::clone(&live), node),
                    started: attempt.turn_started(&target, message_id, shown),
                    reply_id,
                    request: ModelRequest {
                        turn_number: messages.turn_number,
                        ..attempt.reply_request(&target)
                    },
                    client_tools: target.client_tools.clone(),
                    is_instructed: attempt.command.instruction.is_some(),
                    failure,
                    messages,
                    has_cached_history: target.superseded.is_none() && messages.retry_of.is_none(),
                    window: None,
                    store_time: store_start.elapsed(),
                    journal: Vec::new(),
                });
                Ok(accept(started))
            }
            Ok(BeginOutcome::Queued(_)) => {
                live.mark_queued_here();
                Ok(accept(started(true)))
            }
            Ok(BeginOutcome::Replayed(record)) => Ok(decided(Idempotent::Replayed(record))),
            Ok(BeginOutcome::Busy) => Err(ChatError::Busy),
            Ok(BeginOutcome::ActionRequired) => Err(ChatError::ActionRequired),
            Ok(BeginOutcome::AgentNotFound) => Err(ChatError::AgentNotFound),
            Ok(BeginOutcome::ConversationNotFound) => Err(ChatError::ConversationNotFound),
            Ok(BeginOutcome::FileUnusable(file)) => Err(file.into()),
            Ok(BeginOutcome::NodeDead) => {
                context.node.renew_identity(node).await?;
                Ok(AttemptState::Conflicting(None))
            }
            Err(RepositoryError::Stale { .. }) => Ok(AttemptState::Conflicting(None)),
            Err(error) => Err(error.into()),
        }
    }
}

fn accept(turn: StartedTurn) -> AttemptState {
    decided(Idempotent::Applied(AcceptedTurn::started(turn)))
}

fn decided(outcome: Idempotent<AcceptedTurn>) -> AttemptState {
    AttemptState::Decided(Ok(outcome))
}
