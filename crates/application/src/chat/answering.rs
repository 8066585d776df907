//! The two ways in which a question is taken.

use std::{sync::Arc, time::Instant};

use domain::{MessageId, Problem};
use ports::{BeginOutcome, Exchange, ExchangeOutcome, Once, ReplyRequest, RepositoryError};

use super::{
    answer::{Notes, Origin, answer},
    asked::{AnsweredTurn, Asked, TakenTurn},
    command::Chatted,
    error::ChatError,
    followed::FollowedTurn,
    place::{Place, Question, begin_turn, request, started_turn, subject},
    runner::{BegunTurn, TurnRunner},
    written::{chat_reply, reply_of},
};
use crate::engines::Candidate;

/// The outcome of an exchange.
pub(super) enum Exchanged {
    /// It is stored, or was before.
    Stored(Once<Asked>),
    /// Something runs in the conversation.
    Busy,
    /// The engine gave no answer.
    Failed(Problem),
}

/// A turn whose engine answers at once: computed first, then stored whole in one write.
pub(super) async fn exchange(
    runner: &TurnRunner,
    question: &Arc<Question>,
    at: &Arc<Place>,
    engine: &[Candidate],
) -> Result<Exchanged, ChatError> {
    let ports = &runner.ports;
    let started = Instant::now();
    let request = request(question, at);
    let notes = Notes::of(Origin {
        conversation: at.target.id(),
        request_id: question.command.request_id.as_deref(),
    });
    let answer = match answer(engine, &request, None, &notes).await {
        Ok(answer) => answer,
        Err(problem) => return Ok(Exchanged::Failed(problem)),
    };
    let engine_time = started.elapsed();
    // The clock may have been set back while the engine answered.
    let finished_at = ports.clock.now().max(question.stamp.time);
    let reply = reply_of(MessageId::new(ports.ids.next_id()), answer);
    let chat_reply = chat_reply(
        &reply,
        at.target.id(),
        question.turn_id,
        &at.agent,
        finished_at,
    );
    let node = runner.node.id();
    let tool_calls = reply.tool_calls.clone();
    let exchange = Exchange {
        question: begin_turn(question, at, node),
        reply,
        finished_at,
    };
    let asked_at = Instant::now();
    match ports.turns.record_exchange(exchange).await? {
        ExchangeOutcome::Recorded { message_seq, .. } => Ok(Exchanged::Stored(Once::Done(
            Asked::answered(AnsweredTurn {
                question: Arc::clone(question),
                at: Arc::clone(at),
                node,
                message_seq,
                chatted: Chatted {
                    reply: chat_reply,
                    store: asked_at.elapsed(),
                    engine: engine_time,
                },
                tool_calls,
                turns: Arc::clone(&ports.turns),
            }),
        ))),
        ExchangeOutcome::Repeated(record) => Ok(Exchanged::Stored(Once::Repeated(record))),
        ExchangeOutcome::Busy => Ok(Exchanged::Busy),
        ExchangeOutcome::AgentNotFound => Err(ChatError::AgentNotFound),
        ExchangeOutcome::ConversationNotFound => Err(ChatError::ConversationNotFound),
    }
}

/// A turn whose engine takes its time: stored as begun or waiting, and run when it may; `failure`
/// is that of the agent's own engine, which is not asked again if the turn starts now. `None` when
/// it has to be looked at again where it goes.
pub(super) async fn begin(
    runner: &Arc<TurnRunner>,
    question: &Arc<Question>,
    at: &Arc<Place>,
    failure: Option<Problem>,
) -> Result<Option<Once<Asked>>, ChatError> {
    let ports = &runner.ports;
    let asked_at = Instant::now();
    let node = runner.node.id();
    // Known from before it is stored, so that no cancellation can miss it.
    let live = runner.live.enter(subject(question, at));
    let followed = FollowedTurn::new(Arc::clone(&live), Arc::clone(&ports.turns));
    let begin = begin_turn(question, at, node);
    let taken = |is_queued| {
        Some(Once::Done(Asked::taken(TakenTurn {
            question: Arc::clone(question),
            at: Arc::clone(at),
            node,
            is_queued,
            followed,
        })))
    };
    match ports.turns.begin_turn(begin).await {
        Ok(BeginOutcome::Started {
            message_seq,
            turn_number,
            ..
        }) => {
            runner.run(BegunTurn {
                claim: runner.claim(live, node),
                started: started_turn(question, at),
                request: ReplyRequest {
                    turn_number,
                    ..request(question, at)
                },
                failure,
                message_seq,
                store_so_far: asked_at.elapsed(),
            });
            Ok(taken(false))
        }
        Ok(BeginOutcome::Queued(_)) => {
            live.queued();
            Ok(taken(true))
        }
        Ok(BeginOutcome::Repeated(record)) => Ok(Some(Once::Repeated(record))),
        Ok(BeginOutcome::Busy) => Err(ChatError::Busy),
        Ok(BeginOutcome::AgentNotFound) => Err(ChatError::AgentNotFound),
        Ok(BeginOutcome::ConversationNotFound) => Err(ChatError::ConversationNotFound),
        Ok(BeginOutcome::NodeRefused) => {
            runner.node.renew_identity(node).await?;
            Ok(None)
        }
        Err(RepositoryError::Stale { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
