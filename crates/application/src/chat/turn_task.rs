//! A turn of an engine that takes its time: from its start to its stored end, whoever listens.

use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{MessageId, NodeId, ProblemCode, Stamp, Timestamp};
use futures::FutureExt;
use ports::{
    FinishOutcome, FinishTurn, HistoryQuery, PromotedTurn, Reply, ReplyRequest, RepositoryError,
    TurnEnding,
};

use super::{
    answer::{Answer, answer},
    command::Chatted,
    live_turn::{LiveTurn, TurnFailure, TurnOutcome},
    live_turns::interrupted,
    ports::ChatPorts,
    stored::outcome_of,
    unfinished::{Unfinished, UnfinishedTurn},
    written::{chat_reply, reply_of},
};
use crate::engines::Candidate;

/// First pause before a finished turn is offered to an absent store again.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Longest pause between two offers.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A turn that has begun.
pub(super) struct TurnTask {
    pub(super) ports: ChatPorts,
    pub(super) live: Arc<LiveTurn>,
    pub(super) chain: Vec<Candidate>,
    pub(super) request: ReplyRequest,
    /// `seq` of the user's message.
    pub(super) message_seq: i64,
    /// The node id under which the turn began: its fencing token.
    pub(super) node: NodeId,
    /// Whether the turn that waits behind this one may start here.
    pub(super) promote: bool,
    pub(super) unfinished: Arc<Unfinished>,
    pub(super) store_so_far: Duration,
}

/// How a turn ended, and who comes next.
pub(super) struct Ended {
    pub(super) outcome: TurnOutcome,
    pub(super) promoted: Option<Box<PromotedTurn>>,
}

impl From<TurnOutcome> for Ended {
    fn from(outcome: TurnOutcome) -> Self {
        Self {
            outcome,
            promoted: None,
        }
    }
}

impl TurnTask {
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
                return self.fail(ProblemCode::StoreUnavailable.into()).await;
            }
        }
        self.store_so_far += asked_at.elapsed();
        let started = Instant::now();
        let asked = self.live.stopped().run_until_cancelled(answer(
            &self.chain,
            &self.request,
            &*self.live,
        ));
        // A turn must reach its end also when its engine does not.
        let answered = AssertUnwindSafe(asked).catch_unwind().await;
        let engine = started.elapsed();
        match answered {
            Ok(None) if self.live.is_interrupted() => {
                self.fail(ProblemCode::Interrupted.into()).await
            }
            Ok(None) => self.ended_elsewhere().await.into(),
            Ok(Some(Some(Ok(answer)))) => self.complete(answer, engine).await,
            Ok(Some(Some(Err(error)))) => self.fail((&error).into()).await,
            Ok(Some(None)) => self.fail(ProblemCode::EngineFailed.into()).await,
            Err(_panic) => self.fail(ProblemCode::Internal.into()).await,
        }
    }

    async fn history(&self) -> Result<Vec<domain::Message>, RepositoryError> {
        let query = HistoryQuery {
            before: self.message_seq,
            limits: self.request.agent.config.history.unwrap_or_default(),
        };
        let conversation = self.live.subject().conversation_id;
        self.ports
            .conversations
            .history(&self.request.tenant, conversation, &query)
            .await
    }

    async fn complete(&self, answer: Answer, engine: Duration) -> Ended {
        let now = self.ports.clock.now();
        let reply = reply_of(MessageId::new(self.ports.ids.next_id()), answer);
        let conversation = self.live.subject().conversation_id;
        let turn = self.request.turn_id;
        let chat_reply = chat_reply(&reply, conversation, turn, &self.request.agent, now);
        let asked_at = Instant::now();
        let finished = self.finish(TurnEnding::Completed(reply), now).await;
        let chatted = Chatted {
            reply: chat_reply,
            store: self.store_so_far + asked_at.elapsed(),
            engine,
        };
        self.ended(finished, TurnOutcome::Completed(chatted)).await
    }

    async fn fail(&self, failure: TurnFailure) -> Ended {
        let ending = TurnEnding::Failed(failure.problem.clone());
        let finished = self.finish(ending, self.ports.clock.now()).await;
        self.ended(finished, TurnOutcome::Failed(failure)).await
    }

    async fn ended(
        &self,
        finished: Result<FinishOutcome, RepositoryError>,
        outcome: TurnOutcome,
    ) -> Ended {
        match finished {
            Ok(FinishOutcome::Finished { promoted, .. }) => Ended { outcome, promoted },
            Ok(FinishOutcome::Refused) => self.ended_elsewhere().await.into(),
            Err(error) => {
                tracing::error!(
                    error = ports::error::chain(&error),
                    "the end of a turn cannot be stored"
                );
                TurnOutcome::Failed(ProblemCode::Internal.into()).into()
            }
        }
    }

    /// Stores the end, however long the store is away: the reply is there and must not be lost.
    async fn finish(
        &self,
        ending: TurnEnding,
        time: Timestamp,
    ) -> Result<FinishOutcome, RepositoryError> {
        let mut pause = FIRST_PAUSE;
        let mut waits: Option<UnfinishedTurn> = None;
        loop {
            let finish = FinishTurn {
                tenant: self.request.tenant.clone(),
                turn_id: self.request.turn_id,
                conversation_id: self.live.subject().conversation_id,
                node: self.node,
                ending: ending.clone(),
                stamp: Stamp {
                    time,
                    actor: self.live.subject().asker.clone(),
                },
                promote: self.promote,
            };
            match self.ports.turns.finish_turn(finish).await {
                Err(error) if error.is_retryable() => {
                    tracing::warn!(
                        error = ports::error::chain(&error),
                        "a finished turn waits for the store"
                    );
                    waits.get_or_insert_with(|| self.unfinished.enter(bytes_of(&ending)));
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                outcome => return outcome,
            }
        }
    }

    /// How the turn ended that somebody else has ended: by a cancellation, a deletion or a sweep.
    async fn ended_elsewhere(&self) -> TurnOutcome {
        if let Some(outcome) = self.live.progress().outcome.clone() {
            return outcome;
        }
        let found = self
            .ports
            .turns
            .find(&self.request.tenant, self.request.turn_id)
            .await;
        match found.map(|found| found.value.map(|found| outcome_of(found.turn))) {
            Ok(Some(Some(outcome))) => outcome,
            // Gone, and nobody can ask for it any more.
            Ok(None) => TurnOutcome::Cancelled,
            // It runs on under another id in the store, or the store is away: a sweep ends it.
            Ok(Some(None)) | Err(_) => interrupted(),
        }
    }
}

fn bytes_of(ending: &TurnEnding) -> usize {
    match ending {
        TurnEnding::Completed(Reply { content, .. }) => content.len(),
        TurnEnding::Failed(_) => 0,
    }
}
