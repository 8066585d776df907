//! The use case itself.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{ConversationId, IdempotencyKey, MessageId, Principal, Stamp, TurnId};
use ports::{
    BeginOutcome, BeginTurn, Exchange, ExchangeOutcome, ReplyError, ReplyRequest, RepositoryError,
};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use super::{
    answer::answer,
    command::{ChatCommand, Chatted, OnBusy},
    error::ChatError,
    lanes::{LaneGuard, Lanes},
    place::{Place, Question, place, request},
    ports::ChatPorts,
    running::{RunningTurn, RunningTurns},
    turn_task::{TurnPorts, TurnTask, chat_reply, reply_of},
};
use crate::{Engines, IdempotencyRefused, engines::Candidate, idempotency, node::Node};

/// How often a turn is computed again when others keep changing what it was computed from.
const ATTEMPTS: usize = 20;

/// How long a turn may wait for the one before it.
const LONGEST_WAIT: Duration = Duration::from_mins(10);

/// The operation that a chat's idempotency key belongs to, on REST and on the socket.
const OPERATION: &str = "chat";

/// Chat: a message goes in, a turn is stored, the agent's reply comes out.
pub struct ChatService {
    ports: ChatPorts,
    engines: Arc<Engines>,
    node: Arc<Node>,
    lanes: Lanes,
    running: Arc<RunningTurns>,
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
            ports,
            engines,
            node,
            lanes: Lanes::default(),
            running,
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
        let now = self.ports.clock.now();
        let question = Question {
            caller,
            claim: idempotency::claim(caller, OPERATION, key, &command, now),
            stamp: Stamp {
                time: now,
                actor: caller.id.clone(),
            },
            turn_id: TurnId::new(self.ports.ids.next_id()),
            message_id: MessageId::new(self.ports.ids.next_id()),
            command: &command,
        };
        let outcome = self.answer(&question).await;
        match (&outcome, &question.claim) {
            // A request that was refused early may still repeat one that was carried out.
            (Err(error), Some(claim)) if error.is_early() => {
                match self.ports.turns.find_claim(&caller.tenant, claim).await? {
                    Some(record) => Err(IdempotencyRefused::judge(Some(claim), &record).into()),
                    None => outcome,
                }
            }
            _ => outcome,
        }
    }

    async fn answer(&self, question: &Question<'_>) -> Result<Chatted, ChatError> {
        let lane = match question.command.conversation_id {
            Some(id) => {
                let entered = self.lanes.enter(id, question.command.on_busy);
                let waited = tokio::time::timeout(LONGEST_WAIT, entered).await;
                let lane = waited.or(Err(ChatError::Engine(ReplyError::TimedOut)))?;
                Some(lane.ok_or(ChatError::Busy)?)
            }
            None => None,
        };
        let new_id = ConversationId::new(self.ports.ids.next_id());
        for _ in 0..ATTEMPTS {
            let place = place(&self.ports, question, new_id).await?;
            let chain = self.engines.chain(&place.agent);
            if !chain
                .first()
                .is_some_and(|first| first.engine.is_immediate())
            {
                return self.begin(question, place, chain, lane).await;
            }
            match self.exchange(question, &place, &chain[..1]).await {
                Ok(Some(chatted)) => return Ok(chatted),
                // The engine failed, or something runs in the conversation: a turn that is begun
                // can be seen to fail, asks the fallbacks, and is judged again under the lock.
                Ok(None) => return self.begin(question, place, chain, lane).await,
                Err(ChatError::Store(RepositoryError::Stale { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        Err(ChatError::Busy)
    }

    fn begin_turn(&self, question: &Question<'_>, place: &Place) -> BeginTurn {
        BeginTurn {
            tenant: question.caller.tenant.clone(),
            turn_id: question.turn_id,
            message_id: question.message_id,
            target: place.target.clone(),
            agent_id: place.agent.id,
            agent_version: place.agent.version,
            input: question.command.message.clone(),
            metadata: question.command.metadata.clone(),
            stamp: question.stamp.clone(),
            node: self.node.id(),
            on_busy: OnBusy::Reject,
            claim: question.claim.clone(),
        }
    }

    /// A turn whose engine answers at once: computed first, then stored whole in one write. `None`
    /// when it has to be begun instead.
    async fn exchange(
        &self,
        question: &Question<'_>,
        place: &Place,
        engine: &[Candidate],
    ) -> Result<Option<Chatted>, ChatError> {
        let started = Instant::now();
        let request = request(question, place);
        let answered = answer(engine, &request, &RunningTurn::default()).await;
        let Some(Ok(answer)) = answered else {
            return Ok(None);
        };
        let engine_time = started.elapsed();
        let finished_at = self.ports.clock.now();
        let reply = reply_of(MessageId::new(self.ports.ids.next_id()), answer);
        let chat_reply = chat_reply(
            &reply,
            place.target.id(),
            question.turn_id,
            (place.agent.id, place.agent.version),
            finished_at,
        );
        let exchange = Exchange {
            question: self.begin_turn(question, place),
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

    /// A turn whose engine takes its time: stored as begun, then run in a task of its own.
    async fn begin(
        &self,
        question: &Question<'_>,
        mut at: Place,
        chain: Vec<Candidate>,
        lane: Option<LaneGuard>,
    ) -> Result<Chatted, ChatError> {
        let asked_at = Instant::now();
        for _ in 0..ATTEMPTS {
            let request = request(question, &at);
            let conversation_id = at.target.id();
            let begin = self.begin_turn(question, &at);
            let node = begin.node;
            let outcome = match self.ports.turns.begin_turn(begin).await {
                Err(RepositoryError::Stale { .. }) => {
                    at = place(&self.ports, question, conversation_id).await?;
                    continue;
                }
                outcome => outcome?,
            };
            return match outcome {
                BeginOutcome::Started {
                    message_seq,
                    turn_number,
                    ..
                } => {
                    let task = TurnTask {
                        ports: self.turn_ports(),
                        chain,
                        request: ReplyRequest {
                            turn_number,
                            ..request
                        },
                        conversation_id,
                        message_seq,
                        stamp: question.stamp.clone(),
                        node,
                        store_so_far: asked_at.elapsed(),
                    };
                    self.run(task, lane).await
                }
                BeginOutcome::Repeated(record) => {
                    Err(IdempotencyRefused::judge(question.claim.as_ref(), &record).into())
                }
                BeginOutcome::NodeRefused => {
                    self.node.renew_identity().await?;
                    at = place(&self.ports, question, conversation_id).await?;
                    continue;
                }
                BeginOutcome::Queued(_) | BeginOutcome::Busy => Err(ChatError::Busy),
                BeginOutcome::AgentNotFound => Err(ChatError::AgentNotFound),
                BeginOutcome::ConversationNotFound => Err(ChatError::ConversationNotFound),
            };
        }
        Err(ChatError::Busy)
    }

    /// Runs a turn in a task of its own and waits for it; when the caller goes, the turn stays.
    async fn run(&self, task: TurnTask, lane: Option<LaneGuard>) -> Result<Chatted, ChatError> {
        let (running, guard) = self.running.enter(task.request.turn_id);
        let handle = self.tasks.spawn_on(
            async move {
                let outcome = task.run(running).await;
                drop((guard, lane));
                outcome
            },
            &self.runtime,
        );
        handle.await.unwrap_or(Err(ChatError::Interrupted))
    }

    fn turn_ports(&self) -> TurnPorts {
        TurnPorts {
            turns: Arc::clone(&self.ports.turns),
            conversations: Arc::clone(&self.ports.conversations),
            clock: Arc::clone(&self.ports.clock),
            ids: Arc::clone(&self.ports.ids),
        }
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
