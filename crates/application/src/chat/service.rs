//! The use case itself: from a message to its answer.

use std::{sync::Arc, time::Duration};

use domain::{ConversationId, IdempotencyKey, MessageId, Principal, Stamp, TurnId};
use ports::{ReplyError, RepositoryError};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use super::{
    answering::Answering,
    command::{ChatCommand, Chatted},
    error::ChatError,
    lanes::{LaneGuard, Lanes},
    place::{Place, Question, place},
    ports::ChatPorts,
    running::RunningTurns,
};
use crate::{Engines, IdempotencyRefused, idempotency, node::Node};

/// How often a turn is computed again when others keep changing what it was computed from.
pub(super) const ATTEMPTS: usize = 20;

/// How long a turn may wait for the one before it.
const LONGEST_WAIT: Duration = Duration::from_mins(10);

/// The operation that a chat's idempotency key belongs to, on REST and on the socket.
const OPERATION: &str = "chat";

/// Chat: a message goes in, a turn is stored, the agent's reply comes out.
pub struct ChatService {
    answering: Arc<Answering>,
    lanes: Lanes,
    tasks: TaskTracker,
    runtime: Handle,
}

impl ChatService {
    /// A service over these ports. Turns that take their time run in `tasks` on `runtime`, so that
    /// they do not depend on their caller's connection.
    pub fn new(
        ports: ChatPorts,
        engines: Arc<Engines>,
        node: Arc<Node>,
        running: Arc<RunningTurns>,
        tasks: TaskTracker,
        runtime: Handle,
    ) -> Self {
        Self {
            answering: Arc::new(Answering {
                ports,
                engines,
                node,
                running,
            }),
            lanes: Lanes::default(),
            tasks,
            runtime,
        }
    }

    /// Answers a message.
    pub async fn chat(
        &self,
        caller: &Principal,
        command: ChatCommand,
        key: Option<IdempotencyKey>,
    ) -> Result<Chatted, ChatError> {
        command.check().map_err(ChatError::Invalid)?;
        let ports = &self.answering.ports;
        let now = ports.clock.now();
        let claim = idempotency::claim(caller, OPERATION, key, &command, now);
        let question = Question {
            caller: caller.clone(),
            claim: claim.clone(),
            stamp: Stamp {
                time: now,
                actor: caller.id.clone(),
            },
            turn_id: TurnId::new(ports.ids.next_id()),
            message_id: MessageId::new(ports.ids.next_id()),
            command,
        };
        let outcome = self.answer(question).await;
        match (&outcome, &claim) {
            // A request that was refused early may still repeat one that was carried out.
            (Err(error), Some(claim)) if error.is_early() => {
                match ports.claims.find(&caller.tenant, claim).await? {
                    Some(record) => Err(IdempotencyRefused::judge(Some(claim), &record).into()),
                    None => outcome,
                }
            }
            _ => outcome,
        }
    }

    async fn answer(&self, mut question: Question) -> Result<Chatted, ChatError> {
        let answering = &self.answering;
        let new_id = ConversationId::new(answering.ports.ids.next_id());
        // Whether the caller may know of the conversation comes before whether it is busy.
        let mut at = place(&answering.ports, &question, new_id).await?;
        let lane = self.enter_lane(&question).await?;
        if lane.as_ref().is_some_and(|lane| lane.met_outage) {
            let source = "a turn before this one found the store away".into();
            return Err(RepositoryError::Unavailable(source).into());
        }
        if lane.as_ref().is_some_and(|lane| lane.waited) {
            // What was known before the wait is of the turn before.
            question.stamp.time = answering.ports.clock.now();
            at = place(&answering.ports, &question, new_id).await?;
        }
        for _ in 0..ATTEMPTS {
            let chain = answering.engines.chain(&at.agent);
            if !chain
                .first()
                .is_some_and(|first| first.engine.is_immediate())
            {
                return self.begin(question, at, lane).await;
            }
            match answering.exchange(&question, &at, &chain[..1]).await {
                Ok(Some(chatted)) => return Ok(chatted),
                // The engine failed, or something runs in the conversation: a turn that is begun
                // can be seen to fail, asks the fallbacks, and is judged again under the lock.
                Ok(None) => return self.begin(question, at, lane).await,
                Err(ChatError::Store(RepositoryError::Stale { .. })) => {
                    at = place(&answering.ports, &question, new_id).await?;
                }
                Err(error) => {
                    note_outage(lane.as_ref(), &error);
                    return Err(error);
                }
            }
        }
        Err(ChatError::Busy)
    }

    async fn enter_lane(&self, question: &Question) -> Result<Option<LaneGuard>, ChatError> {
        let Some(id) = question.command.conversation_id else {
            return Ok(None);
        };
        let key = (question.caller.tenant.clone(), id);
        let entered = self.lanes.enter(key, question.command.on_busy);
        let lane = tokio::time::timeout(LONGEST_WAIT, entered).await;
        let lane = lane.or(Err(ChatError::Engine(ReplyError::TimedOut)))?;
        lane.map(Some).ok_or(ChatError::Busy)
    }

    /// Runs a turn in a task of its own and waits for it: from its start on, it does not depend on
    /// the caller's connection.
    async fn begin(
        &self,
        question: Question,
        at: Place,
        lane: Option<LaneGuard>,
    ) -> Result<Chatted, ChatError> {
        let answering = Arc::clone(&self.answering);
        let turn = async move {
            let outcome = answering.begin(&question, at).await;
            if let Err(error) = &outcome {
                note_outage(lane.as_ref(), error);
            }
            drop(lane);
            outcome
        };
        let task = self.tasks.spawn_on(turn, &self.runtime);
        task.await.unwrap_or(Err(ChatError::Interrupted))
    }
}

fn note_outage(lane: Option<&LaneGuard>, error: &ChatError) {
    if let (Some(lane), ChatError::Store(RepositoryError::Unavailable(_))) = (lane, error) {
        lane.note_outage();
    }
}

impl ChatError {
    /// Whether the refusal came before the write that judges the idempotency key.
    const fn is_early(&self) -> bool {
        matches!(
            self,
            Self::AgentNotFound | Self::ConversationNotFound | Self::Invalid(_) | Self::Busy
        )
    }
}
