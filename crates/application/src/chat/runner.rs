//! Runs turns, whoever began them, each in a task that depends on no caller's connection.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use domain::{Agent, NodeId};
use ports::{AgentRepository, PromotedTurn, ReplyRequest};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use super::{
    live_turn::{LiveTurn, StartedTurn, TurnOutcome, TurnSubject},
    live_turns::LiveTurns,
    ports::ChatPorts,
    turn_task::TurnTask,
    unfinished::Unfinished,
};
use crate::{Engines, node::Node};

/// Pause before an agent is asked for again that an absent store did not give.
const PAUSE: Duration = Duration::from_millis(500);

/// Runs turns, whoever began them: a chat, the turn before, a cancellation, a sweep.
pub struct TurnRunner {
    pub(super) ports: ChatPorts,
    /// The agents as they are stored: one that was promoted runs with the version of that moment.
    stored_agents: Arc<dyn AgentRepository>,
    pub(super) engines: Arc<Engines>,
    pub(super) node: Arc<Node>,
    pub(super) live: Arc<LiveTurns>,
    unfinished: Arc<Unfinished>,
    pub(super) tasks: TaskTracker,
    pub(super) runtime: Handle,
    is_draining: AtomicBool,
}

/// A turn that is in progress in the store and waits to be run.
pub(super) struct BegunTurn {
    pub(super) live: Arc<LiveTurn>,
    pub(super) started: StartedTurn,
    pub(super) request: ReplyRequest,
    pub(super) message_seq: i64,
    pub(super) node: NodeId,
    pub(super) store_so_far: Duration,
}

impl TurnRunner {
    /// A runner whose turns are tasks of `tasks` on the runtime that this is called on.
    pub fn new(
        ports: ChatPorts,
        stored_agents: Arc<dyn AgentRepository>,
        engines: Arc<Engines>,
        node: Arc<Node>,
        live: Arc<LiveTurns>,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            ports,
            stored_agents,
            engines,
            node,
            live,
            unfinished: Arc::default(),
            tasks,
            runtime: Handle::current(),
            is_draining: AtomicBool::new(false),
        }
    }

    /// The turns that are known here.
    pub fn live(&self) -> &Arc<LiveTurns> {
        &self.live
    }

    /// The process goes away: turns that wait are left to others.
    pub fn drain(&self) {
        self.is_draining.store(true, Ordering::Release);
    }

    /// The node to which turns that wait may be promoted: this one, unless it goes away.
    pub fn promotes_to(&self) -> Option<NodeId> {
        (!self.is_draining.load(Ordering::Acquire)).then(|| self.node.id())
    }

    pub(super) fn is_overloaded(&self) -> bool {
        self.unfinished.is_full()
    }

    /// Runs a turn to its end, and those that are promoted behind it.
    pub(super) fn run(self: &Arc<Self>, begun: BegunTurn) {
        // Before anybody can look for it: whoever waits need not ask the store.
        begun.live.started(begun.started, Some(begun.node));
        let runner = Arc::clone(self);
        let turns = async move { runner.run_in_turn(begun).await };
        self.tasks.spawn_on(turns, &self.runtime);
    }

    /// Runs a turn that waited and was promoted to `node`.
    pub fn run_promoted(self: &Arc<Self>, promoted: PromotedTurn, node: NodeId) {
        let runner = Arc::clone(self);
        let turns = async move {
            if let Some(begun) = runner.begun(promoted, node).await {
                runner.run_in_turn(begun).await;
            }
        };
        self.tasks.spawn_on(turns, &self.runtime);
    }

    async fn run_in_turn(&self, begun: BegunTurn) {
        let mut next = Some(begun);
        while let Some(begun) = next.take() {
            let (live, node) = (Arc::clone(&begun.live), begun.node);
            let ended = self.task(begun).run().await;
            live.end(ended.outcome);
            if let Some(promoted) = ended.promoted {
                next = self.begun(*promoted, node).await;
            }
        }
    }

    fn task(&self, begun: BegunTurn) -> TurnTask {
        TurnTask {
            ports: self.ports.clone(),
            chain: self.engines.chain(&begun.request.agent),
            live: begun.live,
            request: begun.request,
            message_seq: begun.message_seq,
            node: begun.node,
            promote: self.promotes_to().is_some(),
            unfinished: Arc::clone(&self.unfinished),
            store_so_far: begun.store_so_far,
        }
    }

    /// Makes a promoted turn ready to run; none when its agent is gone, and the turn with it.
    async fn begun(&self, promoted: PromotedTurn, node: NodeId) -> Option<BegunTurn> {
        let PromotedTurn {
            tenant,
            turn,
            principal,
            user_id,
            message_id,
            message_seq,
            turn_number,
        } = promoted;
        let live = self.live.enter(TurnSubject {
            tenant: tenant.clone(),
            turn_id: turn.id,
            conversation_id: turn.conversation_id,
            agent_id: turn.agent_id,
            user_id: user_id.clone(),
            asker: principal,
        });
        live.claim(node);
        let Some(agent) = self.agent(&live).await else {
            live.end(TurnOutcome::Cancelled);
            return None;
        };
        let started = StartedTurn {
            turn_id: turn.id,
            conversation_id: turn.conversation_id,
            message_id,
            agent_id: turn.agent_id,
            agent_version: turn.agent_version.unwrap_or(agent.version),
        };
        live.started(started, Some(node));
        Some(BegunTurn {
            live,
            started,
            request: ReplyRequest {
                tenant,
                agent,
                turn_id: turn.id,
                turn_number,
                user_id,
                history: Vec::new(),
                message: turn.input,
            },
            message_seq,
            node,
            store_so_far: Duration::ZERO,
        })
    }

    /// The agent of a turn, however long the store is away.
    async fn agent(&self, live: &LiveTurn) -> Option<Arc<Agent>> {
        let subject = live.subject();
        loop {
            match self
                .stored_agents
                .find(&subject.tenant, subject.agent_id)
                .await
            {
                Ok(found) => return found.value,
                Err(error) => {
                    tracing::warn!(
                        error = ports::error::chain(&error),
                        "the agent of a promoted turn cannot be read"
                    );
                }
            }
            let pause = tokio::time::sleep(PAUSE);
            live.stopped().run_until_cancelled(pause).await?;
        }
    }
}
