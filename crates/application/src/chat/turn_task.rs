//! One run of a turn: from its history to its stored end.

use std::{
    mem,
    panic::AssertUnwindSafe,
    time::{Duration, Instant},
};

use domain::{HistoryMessage, MessageId, Problem, ProblemCode, Role, TurnStarted};
use futures::FutureExt;
use ports::{FinishOutcome, HistoryQuery, ReplyRequest, RepositoryError, TurnEnding};

use super::{
    command::CompletedChat,
    engine_chain::{EngineAnswer, run_engine_chain},
    finish::{FinishedTurn, TurnFinisher},
    live_turn::TurnOutcome,
};
use crate::engines::Candidate;

/// A turn that has started.
pub(super) struct TurnTask<'a> {
    pub(super) finisher: TurnFinisher<'a>,
    pub(super) chain: Vec<Candidate>,
    pub(super) request: ReplyRequest,
    /// The failure of an engine that was asked before those of the chain.
    pub(super) failure: Option<Problem>,
    /// `seq` of the user's message.
    pub(super) message_seq: i64,
    pub(super) started: TurnStarted,
    pub(super) store_so_far: Duration,
}

impl TurnTask<'_> {
    /// Asks the engines and stores the end of the turn.
    pub(super) async fn run(mut self) -> FinishedTurn {
        let asked_at = Instant::now();
        match self.history().await {
            Ok(history) => self.request.history = history,
            Err(error) => {
                tracing::warn!(
                    error = ports::error::chain(&error),
                    "cannot read the history of a turn; the turn fails"
                );
                // A reply without the history would be wrong.
                return self.fail(ProblemCode::StoreUnavailable).await;
            }
        }
        self.store_so_far += asked_at.elapsed();
        let started = Instant::now();
        let live = &self.finisher.ownership.live;
        let failure = self.failure.take();
        let asking = run_engine_chain(&self.chain, &self.request, failure, &**live);
        let asking = live.stopped().run_until_cancelled(asking);
        // A turn must end even if its engine panics.
        let answered = AssertUnwindSafe(asking).catch_unwind().await;
        let engine = started.elapsed();
        match answered {
            Ok(None) if live.is_interrupted() => self.fail(ProblemCode::Interrupted).await,
            Ok(None) => self.finisher.ended_elsewhere().await,
            Ok(Some(Ok(answer))) => self.complete(answer, engine).await,
            Ok(Some(Err(problem))) => self.finisher.fail(problem).await,
            Err(_panic) => self.fail(ProblemCode::Internal).await,
        }
    }

    /// The history, from the cache where possible.
    async fn history(&self) -> Result<Vec<HistoryMessage>, RepositoryError> {
        let query = HistoryQuery {
            before: self.message_seq,
            limits: self.request.agent.config.history.unwrap_or_default(),
        };
        let (runner, tenant) = (self.finisher.runner, &self.request.tenant);
        let conversation = self.finisher.ownership.live.subject().conversation_id;
        if let Some(history) = runner.histories.get(tenant, conversation, &query) {
            return Ok(history);
        }
        let conversations = &runner.context().ports.conversations;
        conversations.history(tenant, conversation, &query).await
    }

    async fn complete(&mut self, answer: EngineAnswer, engine: Duration) -> FinishedTurn {
        let ports = &self.finisher.runner.context().ports;
        let now = ports.clock.now();
        let reply = answer.into_reply(MessageId::new(ports.ids.next_id()));
        let chat_reply = reply.chat_reply(&self.started, now);
        let asked_at = Instant::now();
        let ending = TurnEnding::Completed(reply);
        let stored = self.finisher.store(ending, now).await;
        if let Ok(FinishOutcome::Finished { .. }) = &stored {
            self.keep_history(&chat_reply.message);
        }
        let completed = || {
            TurnOutcome::Completed(CompletedChat {
                reply: chat_reply,
                store: self.store_so_far + asked_at.elapsed(),
                engine,
            })
        };
        self.finisher.ended(stored, completed).await
    }

    /// Caches the history for the next turn.
    fn keep_history(&mut self, reply: &str) {
        let request = &mut self.request;
        let mut messages = mem::take(&mut request.history);
        let message = (self.message_seq, Role::User, &*request.message);
        // No other message is stored while a turn runs.
        let reply = (self.message_seq + 1, Role::Agent, reply);
        messages.extend([message, reply].map(|(seq, role, content)| HistoryMessage {
            seq,
            role,
            content: content.into(),
        }));
        let conversation = self.finisher.ownership.live.subject().conversation_id;
        let limits = request.agent.config.history.unwrap_or_default();
        let histories = &self.finisher.runner.histories;
        let query = HistoryQuery {
            before: self.message_seq + 2,
            limits,
        };
        histories.keep(&request.tenant, conversation, query, messages);
    }

    async fn fail(&self, code: ProblemCode) -> FinishedTurn {
        self.finisher.fail(Problem::new(code)).await
    }
}
