//! The two ways in which a question is answered.

use std::{sync::Arc, time::Instant};

use domain::MessageId;
use ports::{BeginOutcome, Exchange, ExchangeOutcome, ReplyRequest, RepositoryError};

use super::{
    answer::answer,
    command::Chatted,
    error::ChatError,
    place::{Place, Question, begin_turn, place, request},
    ports::ChatPorts,
    running::{RunningTurn, RunningTurns},
    service::ATTEMPTS,
    turn_task::{TurnTask, chat_reply, reply_of},
};
use crate::{Engines, IdempotencyRefused, engines::Candidate, node::Node};

/// What answering a question takes.
pub(super) struct Answering {
    pub(super) ports: ChatPorts,
    pub(super) engines: Arc<Engines>,
    pub(super) node: Arc<Node>,
    pub(super) running: Arc<RunningTurns>,
}

impl Answering {
    /// A turn whose engine answers at once: computed first, then stored whole in one write. `None`
    /// when it has to be begun instead.
    pub(super) async fn exchange(
        &self,
        question: &Question,
        at: &Place,
        engine: &[Candidate],
    ) -> Result<Option<Chatted>, ChatError> {
        let started = Instant::now();
        let request = request(question, at);
        let answered = answer(engine, &request, &RunningTurn::default()).await;
        let Some(Ok(answer)) = answered else {
            return Ok(None);
        };
        let engine_time = started.elapsed();
        let finished_at = self.ports.clock.now();
        let reply = reply_of(MessageId::new(self.ports.ids.next_id()), answer);
        let chat_reply = chat_reply(
            &reply,
            at.target.id(),
            question.turn_id,
            &at.agent,
            finished_at,
        );
        let question_row = begin_turn(question, at, self.node.id());
        let exchange = Exchange {
            question: question_row,
            reply,
            finished_at,
        };
        let asked_at = Instant::now();
        match self.ports.turns.record_exchange(exchange).await? {
            ExchangeOutcome::Recorded(_) => Ok(Some(Chatted {
                reply: chat_reply,
                store: asked_at.elapsed(),
                engine: engine_time,
            })),
            ExchangeOutcome::Repeated(record) => {
                Err(IdempotencyRefused::judge(question.claim.as_ref(), &record).into())
            }
            ExchangeOutcome::Busy => Ok(None),
            ExchangeOutcome::AgentNotFound => Err(ChatError::AgentNotFound),
            ExchangeOutcome::ConversationNotFound => Err(ChatError::ConversationNotFound),
        }
    }

    /// A turn whose engine takes its time: stored as begun, run, and stored as ended.
    pub(super) async fn begin(
        &self,
        question: &Question,
        mut at: Place,
    ) -> Result<Chatted, ChatError> {
        // From before it is stored, so that no cancellation can miss it.
        let (running, _guard) = self.running.enter(question.turn_id);
        let asked_at = Instant::now();
        for _ in 0..ATTEMPTS {
            let node = self.node.id();
            let conversation_id = at.target.id();
            let outcome = self
                .ports
                .turns
                .begin_turn(begin_turn(question, &at, node))
                .await;
            match outcome {
                Ok(BeginOutcome::Started {
                    message_seq,
                    turn_number,
                    ..
                }) => {
                    let task = TurnTask {
                        ports: self.ports.clone(),
                        chain: self.engines.chain(&at.agent),
                        request: ReplyRequest {
                            turn_number,
                            ..request(question, &at)
                        },
                        conversation_id,
                        message_seq,
                        stamp: question.stamp.clone(),
                        node,
                        store_so_far: asked_at.elapsed(),
                    };
                    return task.run(running).await;
                }
                Ok(BeginOutcome::NodeRefused) => self.node.renew_identity(node).await?,
                Err(RepositoryError::Stale { .. }) => {}
                Ok(outcome) => return Err(refusal(outcome, question)),
                Err(error) => return Err(error.into()),
            }
            at = place(&self.ports, question, conversation_id).await?;
        }
        Err(ChatError::Busy)
    }
}

fn refusal(outcome: BeginOutcome, question: &Question) -> ChatError {
    match outcome {
        BeginOutcome::Repeated(record) => {
            IdempotencyRefused::judge(question.claim.as_ref(), &record).into()
        }
        BeginOutcome::AgentNotFound => ChatError::AgentNotFound,
        BeginOutcome::ConversationNotFound => ChatError::ConversationNotFound,
        BeginOutcome::Busy
        | BeginOutcome::Queued(_)
        | BeginOutcome::Started { .. }
        | BeginOutcome::NodeRefused => ChatError::Busy,
    }
}
