//! One run of a turn: from its history to its stored end.

mod history;

use std::{
    mem,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{
    Agent, ChatReply, ClientTool, ConversationId, FinishReason, HistoryMessage, MessageId,
    ModelStep, Problem, ProblemCode, ToolCall, TurnStarted, TurnStep, Unanswered,
    turn_step::tool_calls,
};
use futures::FutureExt;
use ports::{ModelRequest, RepositoryError};
use writes::{Committed, FinishOutcome, PromotedTurn, Reply, TurnEnding, TurnMessages};

use super::{
    ChatContext,
    attempt::schema_of,
    files::read_contents,
    finish::{FinishedTurn, TurnFinisher},
    runner::TurnRunner,
};
use crate::{
    engines::{Candidate, run_engine_chain},
    live_turns::{CompletedChat, TurnOutcome, TurnOwnership},
};

/// The note in a turn that reports the outcome of a call that staff has decided.
const CONTINUATION: &str = "staff has decided on a tool call that waited. Its outcome follows. Tell the user \
    what has happened, and what follows from it.";

/// Returns what the model is told in place of a message of the user.
pub(super) fn note_of_operator(text: &str) -> String {
    format!("[Note of the operator, not of the user: {text}]")
}

/// A turn that is in progress in the store, with everything that is needed to run it.
pub(super) struct TurnTask {
    pub(super) ownership: TurnOwnership,
    pub(super) started: TurnStarted,
    /// The id that the agent's message is going to have.
    pub(super) reply_id: MessageId,
    /// The request to the engines; history and tools are added when the turn runs.
    pub(super) request: ModelRequest,
    /// The tools that the client has added.
    pub(super) client_tools: Vec<ClientTool>,
    /// True if the turn follows an instruction of the operator, which engines without a model cannot.
    pub(super) is_instructed: bool,
    /// The failure of the agent's own engine, if it was called before the turn was stored.
    pub(super) failure: Option<Problem>,
    pub(super) messages: TurnMessages,
    /// True if the history for the turn may be cached. One that contains superseded messages is not used,
    /// nor one without the calls of the turns that this one repeats.
    pub(super) has_cached_history: bool,
    /// The history before tool calls were left out that exceed its limit; `None` if none were.
    pub(super) window: Option<Vec<HistoryMessage>>,
    /// The time spent in the store so far.
    pub(super) store_time: Duration,
    /// The entries of its journal, if it is resumed, or reports a decision of staff.
    pub(super) journal: Vec<TurnStep>,
}

/// A [`TurnTask`] while it runs.
struct RunningTask<'a> {
    task: &'a mut TurnTask,
    context: &'a ChatContext,
    runner: &'a TurnRunner,
}

impl TurnTask {
    /// Creates the task of a turn that was promoted from the queue, or that is resumed.
    pub(super) fn of_promoted(
        promoted: PromotedTurn,
        ownership: TurnOwnership,
        agent: Arc<Agent>,
        reply_id: MessageId,
    ) -> Self {
        let turn = promoted.turn;
        let is_instructed = turn.instruction.is_some();
        let message = match (&turn.continues, &turn.instruction) {
            (Some(_), _) => note_of_operator(CONTINUATION),
            (None, Some(instruction)) => note_of_operator(instruction),
            (None, None) => turn.input,
        };
        let files = turn.files;
        let response_schema = schema_of(promoted.response_schema.as_ref(), &agent);
        Self {
            ownership,
            started: TurnStarted {
                turn_id: turn.id,
                conversation_id: Some(turn.conversation_id),
                message_id: promoted.messages.message.id,
                reply_id: (!promoted.messages.are_for_staff).then_some(reply_id),
                agent_id: turn.agent_id,
                agent_version: turn.agent_version.unwrap_or(agent.version),
                continues: turn.continues,
            },
            reply_id,
            request: ModelRequest {
                turn_number: promoted.messages.turn_number,
                user_id: promoted.user_id,
                files,
                response_schema,
                ..ModelRequest::new(promoted.tenant, agent, turn.id, message)
            },
            client_tools: promoted.client_tools,
            is_instructed,
            failure: None,
            // A resumed turn may be one that supersedes others.
            has_cached_history: promoted.journal.is_empty() && promoted.messages.retry_of.is_none(),
            messages: promoted.messages,
            window: None,
            store_time: Duration::ZERO,
            journal: promoted.journal,
        }
    }

    /// Calls the engines of `chain` and stores the end of the turn.
    pub(super) async fn run(
        &mut self,
        context: &ChatContext,
        runner: &TurnRunner,
        chain: &[Candidate],
    ) -> FinishedTurn {
        let mut running = RunningTask {
            task: self,
            context,
            runner,
        };
        running.run(chain).await
    }
}

impl RunningTask<'_> {
    async fn run(&mut self, chain: &[Candidate]) -> FinishedTurn {
        self.task.request.is_for_staff = self.task.messages.are_for_staff;
        if self.task.request.is_for_staff && self.task.journal.is_empty() {
            return self.leave_to_staff(Vec::new()).await;
        }
        let history_start = Instant::now();
        if let Some(ended) = self.read_input(chain).await {
            return ended;
        }
        self.task.store_time += history_start.elapsed();
        let engine_start = Instant::now();
        let failure = self.task.failure.take();
        let entries = mem::take(&mut self.task.journal);
        let TurnTask {
            ownership, request, ..
        } = &*self.task;
        let (live, reply_id) = (&ownership.live, self.task.reply_id);
        let journal = self.runner.journal(ownership, entries);
        let replying = run_engine_chain(reply_id, chain, request, failure, &**live, Some(&journal));
        let replying = live.stopped().run_until_cancelled_owned(replying);
        // A turn must end even if its engine panics.
        let result = AssertUnwindSafe(replying).catch_unwind().await;
        let engine_time = engine_start.elapsed();
        let entries = journal.entries();
        match result {
            Ok(None) => self.after_stop().await,
            Ok(Some(Ok(reply))) if reply.finish_reason == FinishReason::RequiresAction => {
                self.suspend(reply, &entries, engine_time).await
            }
            Ok(Some(Ok(reply))) if reply.finish_reason == FinishReason::HandedOver => {
                self.leave_to_staff(reply.tool_calls).await
            }
            Ok(Some(Ok(reply))) => {
                let steps = journal.model_steps();
                self.complete(reply, &steps, engine_time).await
            }
            Ok(Some(Err(problem))) => self.finisher().fail(problem).await,
            Err(_panic) => self.fail(ProblemCode::Internal).await,
        }
    }

    /// Reads the history, and the contents of files. Returns the end of the turn, or of its run here, if that fails
    /// or the turn is stopped meanwhile.
    async fn read_input(&mut self, chain: &[Candidate]) -> Option<FinishedTurn> {
        let code = ProblemCode::StoreUnavailable;
        match self.history_for_reply().await {
            None => return Some(self.after_stop().await),
            Some(Err(error)) => return Some(self.fail_unread(&error, code).await),
            Some(Ok(read)) => self.set_history(read),
        }
        let (ports, max_bytes) = (&self.context.ports, self.context.file_bytes);
        let reading = read_contents(ports, &self.task.request, (chain, max_bytes));
        let live = &self.task.ownership.live;
        let code = ProblemCode::FilesUnavailable;
        match live.stopped().run_until_cancelled(reading).await {
            None => return Some(self.after_stop().await),
            Some(Err(error)) => return Some(self.fail_unread(&error, code).await),
            Some(Ok(contents)) => self.task.request.file_contents = contents,
        }
        None
    }

    /// Ends the turn, because a reply without the history or a file would be wrong.
    async fn fail_unread(&self, error: &RepositoryError, code: ProblemCode) -> FinishedTurn {
        let error = ports::error::one_line(error);
        tracing::warn!(
            error,
            "cannot read the history or the files of a turn; the turn fails"
        );
        self.fail(code).await
    }

    /// Ends the turn without a reply, since staff handles the conversation.
    async fn leave_to_staff(&self, tool_calls: Vec<ToolCall>) -> FinishedTurn {
        let now = self.context.ports.clock.now();
        let reply = ChatReply::handed_over(&self.task.started, &tool_calls, now);
        let store_start = Instant::now();
        let ending = TurnEnding::HandedOver { tool_calls };
        let stored = self.finisher().store(ending, now).await;
        let completed = |committed: Committed| {
            TurnOutcome::Completed(CompletedChat {
                reply,
                position: Some(committed.last),
                store: self.task.store_time + store_start.elapsed(),
                engine: Duration::ZERO,
            })
        };
        self.finisher().finished(stored, completed).await
    }

    /// Ends this run of a turn that was cancelled, or that this process no longer runs.
    async fn after_stop(&self) -> FinishedTurn {
        if self.task.ownership.live.is_interrupted() {
            self.finisher().release().await
        } else {
            self.finisher().read_outcome().await
        }
    }

    async fn suspend(&self, reply: Reply, journal: &[TurnStep], engine: Duration) -> FinishedTurn {
        let tool_calls = tool_calls(journal, Unanswered::Waiting);
        let reply = Reply {
            tool_calls,
            ..reply
        };
        let waiting = |reply: &Reply, now| CompletedChat {
            reply: reply.chat_reply(&self.task.started, now),
            position: None,
            store: self.task.store_time,
            engine,
        };
        self.finisher().suspend(reply, waiting).await
    }

    async fn complete(
        &mut self,
        reply: Reply,
        steps: &[Arc<ModelStep>],
        engine: Duration,
    ) -> FinishedTurn {
        let ports = &self.context.ports;
        let now = ports.clock.now();
        let chat_reply = reply.chat_reply(&self.task.started, now);
        let store_start = Instant::now();
        let ending = TurnEnding::Completed(reply);
        let stored = self.finisher().store(ending, now).await;
        // In the store, the calls of the turns that it repeats may be with their own messages.
        let is_cached = self.task.messages.retry_of.is_none();
        if is_cached && matches!(stored, Ok(FinishOutcome::Finished { .. })) {
            self.cache_history(&chat_reply.message, steps);
        }
        let completed = |committed: Committed| {
            TurnOutcome::Completed(CompletedChat {
                reply: chat_reply,
                position: Some(committed.last),
                store: self.task.store_time + store_start.elapsed(),
                engine,
            })
        };
        self.finisher().finished(stored, completed).await
    }

    fn conversation(&self) -> ConversationId {
        self.task.ownership.live.subject().conversation_id
    }

    async fn fail(&self, code: ProblemCode) -> FinishedTurn {
        self.finisher().fail(Problem::new(code)).await
    }

    fn finisher(&self) -> TurnFinisher<'_> {
        TurnFinisher {
            context: self.context,
            runner: self.runner,
            ownership: &self.task.ownership,
        }
    }
}
