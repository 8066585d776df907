//! A turn of an engine that takes its time: from its start to its stored end, whoever listens.

use std::{
    mem,
    panic::AssertUnwindSafe,
    time::{Duration, Instant},
};

use domain::{MessageId, Problem, ProblemCode, Role, Utterance};
use futures::FutureExt;
use ports::{FinishOutcome, HistoryQuery, ReplyRequest, RepositoryError, TurnEnding};

use super::{
    answer::{Answer, answer},
    command::Chatted,
    finishing::{Ended, Finishing},
    live_turn::TurnOutcome,
    written::{chat_reply, reply_of},
};
use crate::engines::Candidate;

/// A turn that has begun.
pub(super) struct TurnTask<'a> {
    pub(super) finishing: Finishing<'a>,
    pub(super) chain: Vec<Candidate>,
    pub(super) request: ReplyRequest,
    /// Why an engine before those of the chain gave no answer.
    pub(super) failure: Option<Problem>,
    /// `seq` of the user's message.
    pub(super) message_seq: i64,
    pub(super) store_so_far: Duration,
}

impl TurnTask<'_> {
    /// Asks the engines and stores how it ended.
    pub(super) async fn run(mut self) -> Ended {
        let asked_at = Instant::now();
        match self.history().await {
            Ok(history) => self.request.history = history,
            Err(error) => {
                tracing::warn!(
                    error = ports::error::chain(&error),
                    "the history of a turn cannot be read"
                );
                // An answer without what was said before would be a wrong one.
                return self.fail(ProblemCode::StoreUnavailable).await;
            }
        }
        self.store_so_far += asked_at.elapsed();
        let started = Instant::now();
        let live = &self.finishing.claim.live;
        let failure = self.failure.take();
        let asked = answer(&self.chain, &self.request, failure, &**live);
        let asked = live.stopped().run_until_cancelled(asked);
        // A turn must reach its end also when its engine does not.
        let answered = AssertUnwindSafe(asked).catch_unwind().await;
        let engine = started.elapsed();
        match answered {
            Ok(None) if live.is_interrupted() => self.fail(ProblemCode::Interrupted).await,
            Ok(None) => self.finishing.ended_elsewhere().await,
            Ok(Some(Ok(answer))) => self.complete(answer, engine).await,
            Ok(Some(Err(problem))) => self.finishing.fail(problem).await,
            Err(_panic) => self.fail(ProblemCode::Internal).await,
        }
    }

    /// What was said before, from memory where possible.
    async fn history(&self) -> Result<Vec<Utterance>, RepositoryError> {
        let query = HistoryQuery {
            before: self.message_seq,
            limits: self.request.agent.config.history.unwrap_or_default(),
        };
        let (runner, tenant) = (self.finishing.runner, &self.request.tenant);
        let conversation = self.finishing.claim.live.subject().conversation_id;
        if let Some(history) = runner.histories.get(tenant, conversation, &query) {
            return Ok(history);
        }
        let conversations = &runner.ports.conversations;
        conversations.history(tenant, conversation, &query).await
    }

    async fn complete(&mut self, answer: Answer, engine: Duration) -> Ended {
        let ports = &self.finishing.runner.ports;
        let now = ports.clock.now();
        let reply = reply_of(MessageId::new(ports.ids.next_id()), answer);
        let conversation = self.finishing.claim.live.subject().conversation_id;
        let turn = self.request.turn_id;
        let reply_as_read = chat_reply(&reply, conversation, turn, &self.request.agent, now);
        let asked_at = Instant::now();
        let ending = TurnEnding::Completed(reply);
        let stored = self.finishing.store(ending, now).await;
        if let Ok(FinishOutcome::Finished { .. }) = &stored {
            self.keep_history(&reply_as_read.message);
        }
        let completed = || {
            TurnOutcome::Completed(Chatted {
                reply: reply_as_read,
                store: self.store_so_far + asked_at.elapsed(),
                engine,
            })
        };
        self.finishing.ended(stored, completed).await
    }

    /// Keeps what was said for the turn behind this one.
    fn keep_history(&mut self, reply: &str) {
        let request = &mut self.request;
        let mut said = mem::take(&mut request.history);
        let question = (self.message_seq, Role::User, &*request.message);
        // No other message is written while a turn runs.
        let answer = (self.message_seq + 1, Role::Agent, reply);
        said.extend([question, answer].map(|(seq, role, content)| Utterance {
            seq,
            role,
            content: content.into(),
        }));
        let conversation = self.finishing.claim.live.subject().conversation_id;
        let limits = request.agent.config.history.unwrap_or_default();
        let histories = &self.finishing.runner.histories;
        let query = HistoryQuery {
            before: self.message_seq + 2,
            limits,
        };
        histories.keep(&request.tenant, conversation, query, said);
    }

    async fn fail(&self, code: ProblemCode) -> Ended {
        self.finishing.fail(Problem::new(code)).await
    }
}
