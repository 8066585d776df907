//! Runs turns, each in a task that is independent of any caller's connection.

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
    ChatContext,
    finish::{FinishedTurn, PendingFinishes, TurnFinisher},
    live_turn::{LiveTurn, TurnSubject},
    live_turns::LiveTurns,
    turn_task::TurnTask,
};
use crate::{Toolbox, cache::HistoryCache, detach_on_drop::Background};

/// The pause before an agent is read again from an unavailable store.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Runs the turns that chats start, and those that are promoted from the queue.
pub struct TurnRunner {
    context: Arc<ChatContext>,
    /// Agents without a cache: a promoted turn runs with the current version.
    stored_agents: Arc<dyn AgentRepository>,
    toolbox: Arc<Toolbox>,
    pub(super) histories: HistoryCache,
    pub(super) pending_finishes: Arc<PendingFinishes>,
    background: Background,
    is_draining: AtomicBool,
    is_closed: AtomicBool,
}

/// A turn that is in progress in the store, with everything that is needed to run it.
pub(super) struct TurnInProgress {
    pub(super) ownership: TurnOwnership,
    pub(super) started: TurnStarted,
    pub(super) request: ReplyRequest,
    /// The failure of the agent's own engine, if it was asked already.
    pub(super) failure: Option<Problem>,
    /// `seq` of the user's message.
    pub(super) message_seq: i64,
    pub(super) store_so_far: Duration,
}

impl TurnRunner {
    /// Creates a runner whose turns are tasks of `tasks` on the current runtime.
    pub fn new(
        context: Arc<ChatContext>,
        stored_agents: Arc<dyn AgentRepository>,
        toolbox: Arc<Toolbox>,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            context,
            stored_agents,
            toolbox,
            histories: HistoryCache::default(),
            pending_finishes: Arc::default(),
            background: Background::new(tasks, Handle::current()),
            is_draining: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        }
    }

    /// The dependencies of chat.
    pub fn context(&self) -> &Arc<ChatContext> {
        &self.context
    }

    /// The turns that this process runs or waits for.
    pub fn live(&self) -> &Arc<LiveTurns> {
        &self.context.live
    }

    /// Leaves queued turns to other processes from now on, because this one ends.
    pub fn drain(&self) {
        self.is_draining.store(true, Ordering::SeqCst);
    }

    /// Interrupts all turns that run or still start, because the process ends.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.live().interrupt_all();
    }

    /// The node to which queued turns may be promoted: this one, unless it is draining.
    pub fn promotes_to(&self) -> Option<NodeId> {
        (!self.is_draining.load(Ordering::SeqCst)).then(|| self.context.node.id())
    }

    pub(super) fn is_overloaded(&self) -> bool {
        self.pending_finishes.is_full()
    }

    /// Where futures run to their end after their caller has dropped them.
    pub(crate) fn background(&self) -> Background {
        self.background.clone()
    }

    /// Runs a future to its end even if its caller stops waiting.
    pub(crate) fn in_background<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.background.spawn(work)
    }

    /// Runs a turn to its end, then those that are promoted after it.
    pub(super) fn run(self: &Arc<Self>, begun: TurnInProgress) {
        // Set before anybody can find the turn, so that no waiter polls the store.
        begun.ownership.live.started(begun.started);
        let runner = Arc::clone(self);
        self.in_background(async move {
            let node = begun.ownership.node;
            let next = runner.perform(begun).await;
            runner.run_behind(next, node).await;
        });
    }

    /// Runs a turn that was promoted to `node`, then those that are promoted after it.
    pub fn run_promoted(self: &Arc<Self>, promoted: PromotedTurn, node: NodeId) {
        // Taken at once, or the turn could be taken for abandoned.
        let ownership = self.own_promoted(&promoted, node);
        let runner = Arc::clone(self);
        self.in_background(async move {
            let next = runner.perform_promoted(promoted, ownership).await;
            runner.run_behind(next, node).await;
        });
    }

    async fn run_behind(&self, mut next: Option<Box<PromotedTurn>>, node: NodeId) {
        while let Some(promoted) = next {
            let ownership = self.own_promoted(&promoted, node);
            next = self.perform_promoted(*promoted, ownership).await;
        }
    }

    /// Marks a turn as run by this process under `node`.
    pub(super) fn take_ownership(&self, live: Arc<LiveTurn>, node: NodeId) -> TurnOwnership {
        let ownership = TurnOwnership::new(live, node);
        // Either `close` sees the ownership, or this sees `is_closed`.
        if self.is_closed.load(Ordering::SeqCst) {
            ownership.live.interrupt();
        }
        ownership
    }

    fn own_promoted(&self, promoted: &PromotedTurn, node: NodeId) -> TurnOwnership {
        let turn = &promoted.turn;
        let live = self.live().enter(TurnSubject {
            tenant: promoted.tenant.clone(),
            turn_id: turn.id,
            conversation_id: turn.conversation_id,
            agent_id: turn.agent_id,
            user_id: promoted.user_id.clone(),
            asker: promoted.principal.clone(),
            request_id: None,
        });
        self.take_ownership(live, node)
    }

    /// Runs a turn to its end, and returns the one that starts in its place.
    async fn perform(&self, begun: TurnInProgress) -> Option<Box<PromotedTurn>> {
        let TurnInProgress {
            ownership,
            mut request,
            failure,
            message_seq,
            store_so_far,
            started,
        } = begun;
        let tools = self.toolbox.of(&request.agent);
        (request.tools, request.unavailable_tools) = (tools.tools, tools.unavailable);
        let mut chain = self.context.engines.chain(&request.tenant, &request.agent);
        if failure.is_some() {
            chain.retain(|candidate| candidate.is_fallback);
        }
        let task = TurnTask {
            finisher: TurnFinisher {
                runner: self,
                ownership: &ownership,
            },
            chain,
            request,
            failure,
            message_seq,
            started,
            store_so_far,
        };
        report_end(&ownership.live, task.run().await)
    }

    async fn perform_promoted(
        &self,
        promoted: PromotedTurn,
        ownership: TurnOwnership,
    ) -> Option<Box<PromotedTurn>> {
        match self.find_agent(&ownership).await {
            Ok(agent) => {
                let begun = in_progress(promoted, ownership, agent);
                begun.ownership.live.started(begun.started);
                self.perform(begun).await
            }
            Err(ended) => report_end(&ownership.live, ended),
        }
    }

    /// Reads the agent of a turn, however long the store is unavailable; or returns how the turn
    /// ended meanwhile.
    async fn find_agent(&self, ownership: &TurnOwnership) -> Result<Arc<Agent>, FinishedTurn> {
        let (live, runner) = (&ownership.live, self);
        let subject = live.subject();
        let finisher = TurnFinisher { runner, ownership };
        loop {
            let found = self.stored_agents.find(&subject.tenant, subject.agent_id);
            match found.await.map(|found| found.value) {
                Ok(Some(agent)) => return Ok(agent),
                // The turn ended with its agent.
                Ok(None) => return Err(finisher.ended_elsewhere().await),
                Err(error) => {
                    tracing::warn!(
                        error = ports::error::chain(&error),
                        turn = %subject.turn_id,
                        "cannot read the agent of a promoted turn; retrying"
                    );
                    if !error.is_retryable() {
                        return Err(finisher.fail(Problem::new(ProblemCode::Internal)).await);
                    }
                }
            }
            let pause = live
                .stopped()
                .run_until_cancelled(tokio::time::sleep(RETRY_PAUSE));
            if pause.await.is_none() {
                return Err(if live.is_interrupted() {
                    finisher.fail(Problem::new(ProblemCode::Interrupted)).await
                } else {
                    finisher.ended_elsewhere().await
                });
            }
        }
    }
}

/// Reports the end of a turn to its waiters, and returns the turn that starts in its place.
fn report_end(live: &LiveTurn, ended: FinishedTurn) -> Option<Box<PromotedTurn>> {
    if let Some(outcome) = ended.outcome {
        live.end(outcome);
    }
    ended.promoted
}

fn in_progress(
    promoted: PromotedTurn,
    ownership: TurnOwnership,
    agent: Arc<Agent>,
) -> TurnInProgress {
    let turn = promoted.turn;
    TurnInProgress {
        ownership,
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

/// Marks a turn as run by this process until it is dropped, even by a panic: then waiters poll the
/// store.
pub(super) struct TurnOwnership {
    pub(super) live: Arc<LiveTurn>,
    /// The node id under which the turn runs: its fencing token.
    pub(super) node: NodeId,
}

impl TurnOwnership {
    pub(super) fn new(live: Arc<LiveTurn>, node: NodeId) -> Self {
        live.runs(Some(node));
        Self { live, node }
    }
}

impl Drop for TurnOwnership {
    fn drop(&mut self) {
        self.live.runs(None);
    }
}
