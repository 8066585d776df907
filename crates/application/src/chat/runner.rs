//! Runs turns, whoever began them, each in a task that depends on no caller's connection.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use domain::{Agent, NodeId, Problem, ProblemCode, TurnStarted};
use ports::{AgentRepository, PromotedTurn, ReplyRequest};
use tokio::{runtime::Handle, task::JoinHandle};
use tokio_util::task::TaskTracker;

use super::{
    claim::Claim,
    finishing::{Ended, Finishing},
    histories::Histories,
    live_turn::{LiveTurn, TurnSubject},
    live_turns::LiveTurns,
    ports::ChatPorts,
    turn_task::TurnTask,
    unfinished::Unfinished,
};
use crate::{Engines, Toolbox, node::Node};

/// Pause before an agent is asked for again that an absent store did not give.
const PAUSE: Duration = Duration::from_millis(500);

/// Runs turns, whoever began them: a chat, the turn before, a cancellation, a sweep.
pub struct TurnRunner {
    pub(super) ports: ChatPorts,
    /// The agents as they are stored: one that was promoted runs with the version of that moment.
    stored_agents: Arc<dyn AgentRepository>,
    pub(super) engines: Arc<Engines>,
    toolbox: Arc<Toolbox>,
    pub(super) node: Arc<Node>,
    pub(super) live: Arc<LiveTurns>,
    pub(super) histories: Histories,
    pub(super) unfinished: Arc<Unfinished>,
    tasks: TaskTracker,
    runtime: Handle,
    is_draining: AtomicBool,
    is_closed: AtomicBool,
}

/// A turn that is in progress in the store, and all that it takes to run it.
pub(super) struct BegunTurn {
    pub(super) claim: Claim,
    pub(super) started: TurnStarted,
    pub(super) request: ReplyRequest,
    /// Why the agent's own engine gave no answer, if it was asked already.
    pub(super) failure: Option<Problem>,
    /// `seq` of the user's message.
    pub(super) message_seq: i64,
    pub(super) store_so_far: Duration,
}

impl TurnRunner {
    /// A runner whose turns are tasks of `tasks` on the runtime that this is called on.
    pub fn new(
        ports: ChatPorts,
        stored_agents: Arc<dyn AgentRepository>,
        engines: Arc<Engines>,
        toolbox: Arc<Toolbox>,
        node: Arc<Node>,
        live: Arc<LiveTurns>,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            ports,
            stored_agents,
            engines,
            toolbox,
            node,
            live,
            histories: Histories::default(),
            unfinished: Arc::default(),
            tasks,
            runtime: Handle::current(),
            is_draining: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        }
    }

    /// The turns that are known here.
    pub fn live(&self) -> &Arc<LiveTurns> {
        &self.live
    }

    /// The process goes away: turns that wait are left to others.
    pub fn drain(&self) {
        self.is_draining.store(true, Ordering::SeqCst);
    }

    /// The process ends: turns that run are interrupted, and so is any that still begins.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.live.interrupt_all();
    }

    /// The node to which turns that wait may be promoted: this one, unless it goes away.
    pub fn promotes_to(&self) -> Option<NodeId> {
        (!self.is_draining.load(Ordering::SeqCst)).then(|| self.node.id())
    }

    pub(super) fn is_overloaded(&self) -> bool {
        self.unfinished.is_full()
    }

    /// Carries something out also when who waits for it goes away.
    pub(crate) fn in_background<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.tasks.spawn_on(work, &self.runtime)
    }

    /// Runs a turn to its end, and those that are promoted behind it.
    pub(super) fn run(self: &Arc<Self>, begun: BegunTurn) {
        // Before anybody can look for it: whoever waits need not ask the store.
        begun.claim.live.started(begun.started);
        let runner = Arc::clone(self);
        self.in_background(async move {
            let node = begun.claim.node;
            let next = runner.perform(begun).await;
            runner.run_behind(next, node).await;
        });
    }

    /// Runs a turn that waited and was promoted to `node`, and those behind it.
    pub fn run_promoted(self: &Arc<Self>, promoted: PromotedTurn, node: NodeId) {
        // At once, or it could be taken for one that nobody runs.
        let claim = self.claim_promoted(&promoted, node);
        let runner = Arc::clone(self);
        self.in_background(async move {
            let next = runner.perform_promoted(promoted, claim).await;
            runner.run_behind(next, node).await;
        });
    }

    async fn run_behind(&self, mut next: Option<Box<PromotedTurn>>, node: NodeId) {
        while let Some(promoted) = next {
            let claim = self.claim_promoted(&promoted, node);
            next = self.perform_promoted(*promoted, claim).await;
        }
    }

    /// Takes a turn on that is in progress under `node`.
    pub(super) fn claim(&self, live: Arc<LiveTurn>, node: NodeId) -> Claim {
        let claim = Claim::of(live, node);
        // Either the claim is seen by who closes, or that is seen here.
        if self.is_closed.load(Ordering::SeqCst) {
            claim.live.interrupt();
        }
        claim
    }

    fn claim_promoted(&self, promoted: &PromotedTurn, node: NodeId) -> Claim {
        let turn = &promoted.turn;
        let live = self.live.enter(TurnSubject {
            tenant: promoted.tenant.clone(),
            turn_id: turn.id,
            conversation_id: turn.conversation_id,
            agent_id: turn.agent_id,
            user_id: promoted.user_id.clone(),
            asker: promoted.principal.clone(),
            request_id: None,
        });
        self.claim(live, node)
    }

    /// Runs a turn to its end; answers the one that starts in its place.
    async fn perform(&self, begun: BegunTurn) -> Option<Box<PromotedTurn>> {
        let BegunTurn {
            claim,
            mut request,
            failure,
            message_seq,
            store_so_far,
            ..
        } = begun;
        let had = self.toolbox.of(&request.agent);
        (request.tools, request.unavailable_tools) = (had.tools, had.unavailable);
        let mut chain = self.engines.chain(&request.tenant, &request.agent);
        if failure.is_some() {
            chain.retain(|candidate| candidate.is_fallback);
        }
        let task = TurnTask {
            finishing: Finishing {
                runner: self,
                claim: &claim,
            },
            chain,
            request,
            failure,
            message_seq,
            store_so_far,
        };
        tell(&claim.live, task.run().await)
    }

    async fn perform_promoted(
        &self,
        promoted: PromotedTurn,
        claim: Claim,
    ) -> Option<Box<PromotedTurn>> {
        match self.agent(&claim).await {
            Ok(agent) => {
                let begun = begun(promoted, claim, agent);
                begun.claim.live.started(begun.started);
                self.perform(begun).await
            }
            Err(ended) => tell(&claim.live, ended),
        }
    }

    /// The agent of a turn, however long the store is away; or how the turn ended without.
    async fn agent(&self, claim: &Claim) -> Result<Arc<Agent>, Ended> {
        let (live, runner) = (&claim.live, self);
        let subject = live.subject();
        let finishing = Finishing { runner, claim };
        loop {
            let found = self.stored_agents.find(&subject.tenant, subject.agent_id);
            match found.await.map(|found| found.value) {
                Ok(Some(agent)) => return Ok(agent),
                // Its turns ended with it.
                Ok(None) => return Err(finishing.ended_elsewhere().await),
                Err(error) => {
                    tracing::warn!(
                        error = ports::error::chain(&error),
                        turn = %subject.turn_id,
                        "the agent of a promoted turn cannot be read"
                    );
                    if !error.is_retryable() {
                        return Err(finishing.fail(Problem::new(ProblemCode::Internal)).await);
                    }
                }
            }
            let pause = live
                .stopped()
                .run_until_cancelled(tokio::time::sleep(PAUSE));
            if pause.await.is_none() {
                return Err(if live.is_interrupted() {
                    finishing.fail(Problem::new(ProblemCode::Interrupted)).await
                } else {
                    finishing.ended_elsewhere().await
                });
            }
        }
    }
}

/// Tells those who wait for a turn how it ended; answers the one that starts in its place.
fn tell(live: &LiveTurn, ended: Ended) -> Option<Box<PromotedTurn>> {
    if let Some(outcome) = ended.outcome {
        live.end(outcome);
    }
    ended.promoted
}

fn begun(promoted: PromotedTurn, claim: Claim, agent: Arc<Agent>) -> BegunTurn {
    let turn = promoted.turn;
    BegunTurn {
        claim,
        started: TurnStarted {
            turn_id: turn.id,
            conversation_id: turn.conversation_id,
            message_id: promoted.message_id,
            agent_id: turn.agent_id,
            agent_version: turn.agent_version.unwrap_or(agent.version),
        },
        request: ReplyRequest {
            tenant: promoted.tenant,
            agent,
            turn_id: turn.id,
            turn_number: promoted.turn_number,
            user_id: promoted.user_id,
            history: Vec::new(),
            message: turn.input,
            tools: Vec::new(),
            unavailable_tools: Vec::new(),
        },
        failure: None,
        message_seq: promoted.message_seq,
        store_so_far: Duration::ZERO,
    }
}
