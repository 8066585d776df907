//! A turn of an engine that takes its time: from its start to its stored end, whoever listens.

use std::{
    panic::AssertUnwindSafe,
    time::{Duration, Instant},
};

use domain::{
    Agent, ChatReply, ConversationId, HistoryLimits, MessageId, Problem, ProblemCode, Stamp, TurnId,
};
use futures::FutureExt;
use ports::{
    FinishOutcome, FinishTurn, HistoryQuery, Reply, ReplyRequest, RepositoryError, TurnEnding,
};

use super::{
    answer::{Answer, answer},
    command::Chatted,
    error::{ChatError, turn_problem},
    ports::ChatPorts,
    running::RunningTurn,
};
use crate::engines::Candidate;

/// First pause before a finished turn is offered to an absent store again.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Longest pause between two offers.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A turn that has begun.
pub(super) struct TurnTask {
    pub(super) ports: ChatPorts,
    pub(super) chain: Vec<Candidate>,
    pub(super) request: ReplyRequest,
    pub(super) conversation_id: ConversationId,
    /// `seq` of the user's message.
    pub(super) message_seq: i64,
    pub(super) stamp: Stamp,
    /// The node id under which the turn began: its fencing token.
    pub(super) node: domain::NodeId,
    pub(super) store_so_far: Duration,
}

impl TurnTask {
    /// Asks the engines and stores how it ended.
    pub(super) async fn run(mut self, running: RunningTurn) -> Result<Chatted, ChatError> {
        let asked_at = Instant::now();
        let limits = self.request.agent.config.history.unwrap_or_default();
        match self.history(limits).await {
            Ok(history) => self.request.history = history,
            Err(error) => {
                // An answer without what was said before would be a wrong one.
                self.fail(Problem::new(ProblemCode::StoreUnavailable))
                    .await?;
                return Err(error.into());
            }
        }
        self.store_so_far += asked_at.elapsed();
        let started = Instant::now();
        let asked = running
            .stop
            .run_until_cancelled(answer(&self.chain, &self.request, &running));
        // A turn must reach its end also when its engine does not.
        let answered = AssertUnwindSafe(asked).catch_unwind().await;
        let engine = started.elapsed();
        match answered {
            Ok(None) if running.is_interrupted() => {
                self.fail(Problem::new(ProblemCode::Interrupted)).await?;
                Err(ChatError::Interrupted)
            }
            Ok(None) => Err(ChatError::Cancelled),
            Ok(Some(Some(Ok(answer)))) => self.complete(answer, engine).await,
            Ok(Some(Some(Err(error)))) => {
                self.fail(turn_problem(&error)).await?;
                Err(ChatError::Engine(error))
            }
            Ok(Some(None)) => {
                self.fail(Problem::new(ProblemCode::EngineFailed)).await?;
                Err(ChatError::NoEngine)
            }
            Err(_panic) => {
                self.fail(Problem::new(ProblemCode::Internal)).await?;
                Err(ChatError::Panicked)
            }
        }
    }

    async fn fail(&self, problem: Problem) -> Result<(), ChatError> {
        let now = self.ports.clock.now();
        self.finish(TurnEnding::Failed(problem), now).await
    }

    async fn history(
        &self,
        limits: HistoryLimits,
    ) -> Result<Vec<domain::Message>, RepositoryError> {
        let query = HistoryQuery {
            before: self.message_seq,
            limits,
        };
        self.ports
            .conversations
            .history(&self.request.tenant, self.conversation_id, &query)
            .await
    }

    async fn complete(mut self, answer: Answer, engine: Duration) -> Result<Chatted, ChatError> {
        let now = self.ports.clock.now();
        let reply = reply_of(MessageId::new(self.ports.ids.next_id()), answer);
        let chat_reply = chat_reply(
            &reply,
            self.conversation_id,
            self.request.turn_id,
            &self.request.agent,
            now,
        );
        let asked_at = Instant::now();
        self.finish(TurnEnding::Completed(reply), now).await?;
        self.store_so_far += asked_at.elapsed();
        Ok(Chatted {
            reply: chat_reply,
            store: self.store_so_far,
            engine,
        })
    }

    /// Stores the end, however long the store is away: the reply is there and must not be lost.
    async fn finish(&self, ending: TurnEnding, now: domain::Timestamp) -> Result<(), ChatError> {
        let mut pause = FIRST_PAUSE;
        loop {
            let finish = FinishTurn {
                tenant: self.request.tenant.clone(),
                turn_id: self.request.turn_id,
                conversation_id: self.conversation_id,
                node: self.node,
                ending: ending.clone(),
                stamp: Stamp {
                    time: now,
                    actor: self.stamp.actor.clone(),
                },
                // Turns wait in this process's lanes for now, not in the store.
                promote: false,
            };
            match self.ports.turns.finish_turn(finish).await {
                Ok(FinishOutcome::Finished { .. }) => return Ok(()),
                // Somebody ended the turn from outside: a cancellation or a deletion.
                Ok(FinishOutcome::Refused) => return Err(ChatError::Cancelled),
                Err(error) if error.is_retryable() => {
                    tracing::warn!(
                        error = ports::error::chain(&error),
                        "a finished turn waits for the store"
                    );
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The answer as it is stored.
pub(super) fn reply_of(message_id: MessageId, answer: Answer) -> Reply {
    Reply {
        message_id,
        content: answer.content,
        engine: answer.engine,
        degraded: answer.degraded,
        finish_reason: answer.finish_reason,
        usage: answer.usage,
        tool_calls: Vec::new(),
    }
}

/// The answer as the caller reads it.
pub(super) fn chat_reply(
    reply: &Reply,
    conversation_id: ConversationId,
    turn_id: TurnId,
    agent: &Agent,
    created_at: domain::Timestamp,
) -> ChatReply {
    ChatReply {
        message: reply.content.clone(),
        conversation_id,
        turn_id,
        message_id: reply.message_id,
        agent_id: agent.id,
        agent_version: agent.version,
        engine: reply.engine.clone(),
        degraded: reply.degraded,
        finish_reason: reply.finish_reason,
        usage: reply.usage,
        created_at,
    }
}
