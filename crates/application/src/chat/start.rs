//! The two ways to start a turn.

use std::{sync::Arc, time::Instant};

use domain::{MessageId, Problem};
use ports::{
    BeginOutcome, CompletedTurn, Idempotent, RecordTurnOutcome, ReplyRequest, RepositoryError,
};

use super::{
    ChatContext,
    accepted_turn::{AcceptedTurn, InlineTurn, StartedTurn},
    command::CompletedChat,
    engine_chain::{BufferedSink, LogContext, run_engine_chain},
    error::ChatError,
    runner::{TurnInProgress, TurnRunner},
    target::{ChatAttempt, ChatTarget},
    turn_waiter::TurnWaiter,
};
use crate::engines::Candidate;

/// The outcome of one pass over a chat attempt.
pub(super) enum Pass {
    /// The turn is stored, or its idempotency key was used before.
    Decided(Idempotent<AcceptedTurn>),
    /// Nothing is stored: the conversation, the agent or the node id has changed meanwhile.
    Conflict,
}

/// The outcome of [`answer_inline`].
pub(super) enum InlineOutcome {
    /// The turn is stored, or its idempotency key was used before.
    Stored(Idempotent<AcceptedTurn>),
    /// Nothing is stored: another turn runs in the conversation.
    Busy,
    /// Nothing is stored: the engine gave no reply.
    Failed(Problem),
}

/// Computes the reply first and stores the completed turn in one write.
pub(super) async fn answer_inline(
    context: &ChatContext,
    attempt: &Arc<ChatAttempt>,
    target: &Arc<ChatTarget>,
    engine: &[Candidate],
) -> Result<InlineOutcome, ChatError> {
    let ports = &context.ports;
    let asked_at = Instant::now();
    let request = attempt.reply_request(target);
    let sink = BufferedSink::new(LogContext {
        conversation: target.conversation.id(),
        request_id: attempt.command.request_id.as_deref(),
    });
    let answer = match run_engine_chain(engine, &request, None, &sink).await {
        Ok(answer) => answer,
        Err(problem) => return Ok(InlineOutcome::Failed(problem)),
    };
    let engine_time = asked_at.elapsed();
    // The clock may have been set back while the engine answered.
    let finished_at = ports.clock.now().max(attempt.stamp.time);
    let reply = answer.into_reply(MessageId::new(ports.ids.next_id()));
    let started = attempt.turn_started(target);
    let chat_reply = reply.chat_reply(&started, finished_at);
    let node = context.node.id();
    let tool_calls = reply.tool_calls.clone();
    let completed = CompletedTurn {
        begin: attempt.begin_turn(target, node),
        reply,
        finished_at,
    };
    let stored_at = Instant::now();
    match ports.turns.record_completed_turn(completed).await? {
        RecordTurnOutcome::Recorded { message_seq, .. } => {
            let accepted = AcceptedTurn::inline(InlineTurn {
                attempt: Arc::clone(attempt),
                target: Arc::clone(target),
                node,
                message_seq,
                completed: CompletedChat {
                    reply: chat_reply,
                    store: stored_at.elapsed(),
                    engine: engine_time,
                },
                tool_calls,
                turns: Arc::clone(&ports.turns),
            });
            Ok(InlineOutcome::Stored(Idempotent::Applied(accepted)))
        }
        RecordTurnOutcome::Replayed(record) => {
            Ok(InlineOutcome::Stored(Idempotent::Replayed(record)))
        }
        RecordTurnOutcome::Busy => Ok(InlineOutcome::Busy),
        RecordTurnOutcome::AgentNotFound => Err(ChatError::AgentNotFound),
        RecordTurnOutcome::ConversationNotFound => Err(ChatError::ConversationNotFound),
    }
}

/// Stores the turn as started or queued, and runs it in the background once it may. `failure` is
/// that of the agent's own engine, which is not asked again if the turn starts now.
pub(super) async fn start_turn(
    runner: &Arc<TurnRunner>,
    attempt: &Arc<ChatAttempt>,
    target: &Arc<ChatTarget>,
    failure: Option<Problem>,
) -> Result<Pass, ChatError> {
    let ChatContext {
        ports, live, node, ..
    } = &**runner.context();
    let stored_at = Instant::now();
    let node_id = node.id();
    // Registered before it is stored, so that no cancellation can miss it.
    let live = live.enter(attempt.turn_subject(target));
    let accepted = |is_queued| {
        let turn = StartedTurn {
            attempt: Arc::clone(attempt),
            target: Arc::clone(target),
            node: node_id,
            is_queued,
            waiter: TurnWaiter::new(Arc::clone(&live), Arc::clone(&ports.turns)),
        };
        Pass::Decided(Idempotent::Applied(AcceptedTurn::started(turn)))
    };
    let begin = attempt.begin_turn(target, node_id);
    match ports.turns.begin_turn(begin).await {
        Ok(BeginOutcome::Started {
            message_seq,
            turn_number,
            ..
        }) => {
            let accepted = accepted(false);
            runner.run(TurnInProgress {
                ownership: runner.take_ownership(Arc::clone(&live), node_id),
                started: attempt.turn_started(target),
                request: ReplyRequest {
                    turn_number,
                    ..attempt.reply_request(target)
                },
                failure,
                message_seq,
                store_so_far: stored_at.elapsed(),
            });
            Ok(accepted)
        }
        Ok(BeginOutcome::Queued(_)) => {
            live.queued();
            Ok(accepted(true))
        }
        Ok(BeginOutcome::Replayed(record)) => Ok(Pass::Decided(Idempotent::Replayed(record))),
        Ok(BeginOutcome::Busy) => Err(ChatError::Busy),
        Ok(BeginOutcome::AgentNotFound) => Err(ChatError::AgentNotFound),
        Ok(BeginOutcome::ConversationNotFound) => Err(ChatError::ConversationNotFound),
        Ok(BeginOutcome::NodeRefused) => {
            node.renew_identity(node_id).await?;
            Ok(Pass::Conflict)
        }
        Err(RepositoryError::Stale { .. }) => Ok(Pass::Conflict),
        Err(error) => Err(error.into()),
    }
}
