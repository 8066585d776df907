//! Runs turns, each in a task that is independent of any caller's connection.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use domain::{Agent, ClientTool, MessageId, NodeId, Problem, ProblemCode, TurnStep};
use ports::{AgentRepository, AgentTool, RepositoryError};
use tokio::time::{Instant, sleep};
use writes::PromotedTurn;

use super::{
    ChatContext,
    finish::{FinishedTurn, TurnFinisher},
    turn_task::TurnTask,
};
use crate::{
    Toolbox,
    engines::Journal,
    live_turns::{LiveTurn, TurnOwnership, TurnSubject},
    toolbox::ToolsOfAgent,
};

/// The pause before an agent is read again from an unavailable store.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// The time for which a resumed turn waits for tool servers that are unavailable.
const MAX_TOOL_WAIT: Duration = Duration::from_secs(15);
/// The pause before they are looked for again.
const TOOL_PAUSE: Duration = Duration::from_millis(100);

/// Runs the turns that chats start, and those that are promoted from the queue.
pub struct TurnRunner {
    context: Arc<ChatContext>,
    /// Agents without a cache: a promoted turn runs with the current version.
    stored_agents: Arc<dyn AgentRepository>,
    toolbox: Arc<Toolbox>,
    is_draining: AtomicBool,
    is_closed: AtomicBool,
}

impl TurnRunner {
    /// Creates a runner of turns.
    pub fn new(
        context: Arc<ChatContext>,
        stored_agents: Arc<dyn AgentRepository>,
        toolbox: Arc<Toolbox>,
    ) -> Self {
        Self {
            context,
            stored_agents,
            toolbox,
            is_draining: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Stops promoting queued turns to this process, which is shutting down.
    pub fn stop_promoting(&self) {
        self.is_draining.store(true, Ordering::SeqCst);
    }

    /// Interrupts all turns that run here, and those that start later, because the process ends.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.context.live.interrupt_all();
    }

    /// Returns the node to which queued turns may be promoted: this one, unless it is draining.
    pub fn promotes_to(&self) -> Option<NodeId> {
        (!self.is_draining()).then(|| self.context.node.id())
    }

    pub(super) const fn context(&self) -> &Arc<ChatContext> {
        &self.context
    }

    /// Returns the journal of a turn that runs here, with the entries that it has already.
    pub(super) fn journal<'a>(
        &'a self,
        ownership: &'a TurnOwnership,
        entries: Vec<TurnStep>,
    ) -> Journal<'a> {
        let writes = &self.context.ports.writes;
        let clock = &*self.context.ports.clock;
        let turns = &*self.context.ports.turns;
        Journal::new(writes, clock, turns, ownership, &self.is_draining, entries)
    }

    /// Returns whether this process is shutting down.
    pub(super) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::SeqCst)
    }

    /// Returns whether this process no longer runs turns, because it ends.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// Returns the tools of an agent that are available now.
    pub(super) fn tools_of(&self, agent: &Agent, of_client: &[ClientTool]) -> ToolsOfAgent {
        self.toolbox.of(agent, of_client)
    }

    /// Returns the indices of the tools of a chat whose names are those of tools of the agent, with these.
    pub(super) fn clashing_tools(
        &self,
        agent: &Agent,
        of_chat: &[ClientTool],
    ) -> Vec<(usize, AgentTool)> {
        self.toolbox.clashes(agent, of_chat)
    }

    /// Runs a turn to its end, then those that are promoted after it.
    pub(super) fn run(self: &Arc<Self>, task: TurnTask) {
        // Marked before the caller learns of the turn, so that no waiter polls the store.
        task.ownership.live.mark_started(task.started.clone());
        let runner = Arc::clone(self);
        self.context.background.spawn_here(async move {
            let node = task.ownership.node;
            let next = runner.perform(task).await;
            runner.run_following(next, node).await;
        });
    }

    /// Runs a turn that was promoted to `node` or goes on there, then those that are promoted after it.
    /// Returns the turn.
    pub fn run_promoted(self: &Arc<Self>, promoted: PromotedTurn, node: NodeId) -> Arc<LiveTurn> {
        // Owned at once, or the reconciler could fail the turn as lost.
        let ownership = self.own_promoted(&promoted, node);
        let live = Arc::clone(&ownership.live);
        let runner = Arc::clone(self);
        self.context.background.spawn(async move {
            let next = Box::pin(runner.perform_promoted(promoted, ownership)).await;
            runner.run_following(next, node).await;
        });
        live
    }

    async fn run_following(&self, mut next: Option<Box<PromotedTurn>>, node: NodeId) {
        while let Some(promoted) = next {
            let ownership = self.own_promoted(&promoted, node);
            next = Box::pin(self.perform_promoted(*promoted, ownership)).await;
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
        let subject = TurnSubject::of_promoted(promoted);
        let live = self.context.live.get_or_register(subject);
        if !promoted.journal.is_empty() {
            live.resume(&promoted.journal);
        }
        self.take_ownership(live, node)
    }

    /// Runs a turn to its end, and returns the one that starts in its place.
    async fn perform(&self, mut task: TurnTask) -> Option<Box<PromotedTurn>> {
        let request = &mut task.request;
        let tools = if task.journal.is_empty() {
            self.tools_of(&request.agent, &task.client_tools)
        } else {
            self.tools_of_resumed(&request.agent, &task.client_tools)
                .await
        };
        (request.tools, request.unavailable_tools) = (tools.tools, tools.unavailable);
        let mut chain = self.context.engines.chain(&request.tenant, &request.agent);
        if task.failure.is_some() {
            chain.retain(|candidate| candidate.is_fallback);
        }
        if task.is_instructed {
            chain.retain(|candidate| !candidate.engine.is_immediate());
        }
        let finished = task.run(&self.context, self, &chain).await;
        report_end(&task.ownership.live, finished)
    }

    /// Returns the tools of an agent whose turn is resumed. Its process may have started just now, so the
    /// tool servers get some time.
    async fn tools_of_resumed(&self, agent: &Agent, of_client: &[ClientTool]) -> ToolsOfAgent {
        let deadline = Instant::now() + MAX_TOOL_WAIT;
        loop {
            let tools = self.tools_of(agent, of_client);
            if tools.unavailable.is_empty() || Instant::now() >= deadline {
                return tools;
            }
            sleep(TOOL_PAUSE).await;
        }
    }

    async fn perform_promoted(
        &self,
        promoted: PromotedTurn,
        ownership: TurnOwnership,
    ) -> Option<Box<PromotedTurn>> {
        match self
            .find_agent(&ownership, promoted.turn.agent_version)
            .await
        {
            Ok(agent) => {
                let new_id = || MessageId::new(self.context.ports.ids.next_id());
                let reply_id = promoted.reply_id.unwrap_or_else(new_id);
                let task = TurnTask::of_promoted(promoted, ownership, agent, reply_id);
                task.ownership.live.mark_started(task.started.clone());
                self.perform(task).await
            }
            Err(finished) => report_end(&ownership.live, finished),
        }
    }

    /// Reads the agent of a turn in the version with which it started, or, if a build from before kept
    /// versions wrote that, the current one.
    async fn read_agent(
        &self,
        subject: &TurnSubject,
        version: Option<i64>,
    ) -> Result<Option<Arc<Agent>>, RepositoryError> {
        let (tenant, id) = (&subject.tenant, subject.agent_id);
        if let Some(version) = version {
            let found = self.stored_agents.find_version(tenant, id, version).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(self.stored_agents.find(tenant, id).await?.value)
    }

    /// Reads the agent of a turn, however long the store is unavailable. Returns the end of the
    /// turn if it ends first.
    async fn find_agent(
        &self,
        ownership: &TurnOwnership,
        version: Option<i64>,
    ) -> Result<Arc<Agent>, FinishedTurn> {
        let live = &ownership.live;
        let subject = live.subject();
        let finisher = TurnFinisher {
            context: &self.context,
            runner: self,
            ownership,
        };
        loop {
            match self.read_agent(subject, version).await {
                Ok(Some(agent)) => return Ok(agent),
                // The deletion of the agent has ended the turn.
                Ok(None) => return Err(finisher.read_outcome().await),
                Err(error) => {
                    tracing::warn!(
                        error = ports::error::one_line(&error),
                        turn = %subject.turn_id,
                        "cannot read the agent of a promoted turn; retrying"
                    );
                    if !error.is_retryable() {
                        return Err(finisher.fail(Problem::new(ProblemCode::Internal)).await);
                    }
                }
            }
            let pause = live.stopped().run_until_cancelled_owned(sleep(RETRY_PAUSE));
            if pause.await.is_none() {
                return Err(if live.is_interrupted() {
                    finisher.release().await
                } else {
                    finisher.read_outcome().await
                });
            }
        }
    }
}

/// Reports the end of a turn to its waiters, and returns the turn that starts in its place.
fn report_end(live: &LiveTurn, finished: FinishedTurn) -> Option<Box<PromotedTurn>> {
    if let Some(outcome) = finished.outcome {
        live.end(outcome);
    }
    finished.promoted
}
