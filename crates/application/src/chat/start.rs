//! The two ways to start the turn of a chat attempt.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{
    Agent, ClientTool, FaultCode, FileReference, Handler, InputFault, Problem, ProblemCode,
    fault::push_index,
};
use ports::{Idempotent, RepositoryError, ToolChoice};
use tokio::time::timeout;
use writes::{CompletedTurn, ConversationTarget, RecordTurnOutcome, Reply};

use super::{
    ChatContext,
    accepted_turn::{AcceptedTurn, InlineTurn},
    attempt::ChatAttempt,
    attempt_state::AttemptState,
    command::{ChatError, OnBusy},
    conversation_locks::{ConversationLock, ConversationLocks},
    files::{
        MessageFiles, check_files, fetch_files, judge_files, known, least_uploads, references,
        scan_files, store_files,
    },
    runner::TurnRunner,
    service::MAX_QUEUE_TIME,
    target::{ChatTarget, resolve_target},
    tool_choice::check_tool_choice,
    turn_start::TurnStart,
};
use crate::{
    detach_on_drop::DetachOnDrop,
    engines::{BufferedSink, Candidate, TurnOrigin, reply_without_tools},
    live_turns::CompletedChat,
};

/// The time after which a caller receives an error of the store, although the outcome of its write may
/// still become known.
pub(crate) const MAX_STORE_TIME: Duration = Duration::from_millis(4_750);

/// An attempt whose first engine replies at once.
pub(super) struct InlineAttempt {
    target: Arc<ChatTarget>,
    engine: Candidate,
    has_fallbacks: bool,
    /// `None` if the conversation is new.
    lock: Option<ConversationLock>,
}

/// Starts the turns of attempts.
pub(super) struct TurnStarter {
    pub(super) context: Arc<ChatContext>,
    pub(super) runner: Arc<TurnRunner>,
    pub(super) locks: ConversationLocks,
}

impl TurnStarter {
    /// Reads the conversation and the agent. If the agent's engine replies at once, waits for the
    /// conversation's lock.
    pub(super) async fn resolve(
        &self,
        attempt: &ChatAttempt,
        files: &mut MessageFiles,
        lock: Option<ConversationLock>,
    ) -> Result<AttemptState, ChatError> {
        if self.context.pending_finishes.is_full() {
            return Err(ChatError::Overloaded);
        }
        // A caller that may not read the conversation must not learn that it is busy.
        let mut target = resolve_target(&self.context.ports, attempt).await?;
        if target.response_schema.is_some() && self.context.is_upgrading() {
            return Err(ProblemCode::Upgrading.into());
        }
        let client_tools = self.client_tools(attempt, &target.agent);
        target.client_tools = client_tools.map_err(ChatError::Invalid)?;
        let checked = self.check_tool_choice(attempt, &target);
        checked.map_err(|detail| ChatError::ToolNotOffered { detail })?;
        let tenant = &attempt.caller.tenant;
        let chain = self.context.engines.chain(tenant, &target.agent);
        target.files = self.files(attempt, &target, files, &chain).await?;
        let target = Arc::new(target);
        let mut chain = chain.into_iter();
        let engine = chain.next().filter(|it| it.engine.is_immediate());
        let Some(engine) = engine else {
            return Ok(AttemptState::starting(target));
        };
        if attempt.command.instruction.is_some() {
            return Err(ChatError::Invalid(vec![InputFault::new(
                "/instruction",
                FaultCode::NotCombinable,
                "the engine of the agent follows no instructions",
            )]));
        }
        let lock = if lock.is_some() {
            lock
        } else {
            let lock = self.lock_conversation(attempt, &target).await?;
            if lock.as_ref().is_some_and(|lock| lock.met_outage) {
                let source = "the turn before this one could not be stored".into();
                return Err(RepositoryError::Unavailable(source).into());
            }
            if lock.as_ref().is_some_and(|lock| lock.waited) {
                // The target was resolved before the previous turn was stored.
                return Ok(AttemptState::Conflicting(lock));
            }
            lock
        };
        Ok(AttemptState::AnsweringInline(InlineAttempt {
            target,
            engine,
            has_fallbacks: chain.next().is_some(),
            lock,
        }))
    }

    /// Returns the files of a message: those of a stored one that is answered again, or those of the client,
    /// which are stored now, once.
    async fn files(
        &self,
        attempt: &ChatAttempt,
        target: &ChatTarget,
        files: &mut MessageFiles,
        chain: &[Candidate],
    ) -> Result<Vec<FileReference>, ChatError> {
        let (context, caller) = (&self.context, &attempt.caller);
        let answered = target.answered();
        if answered.map_or(attempt.command.files.is_empty(), |it| it.files.is_empty()) {
            return Ok(Vec::new());
        }
        if context.is_upgrading() {
            return Err(ProblemCode::Upgrading.into());
        }
        if let Some(answered) = answered {
            let files = answered.files.iter().enumerate();
            self.check_files(attempt, target, files, chain).await?;
            return Ok(answered.files.clone());
        }
        let pending = match files {
            MessageFiles::Stored(stored) => return Ok(stored.clone()),
            MessageFiles::Sent(sent) => judge_files(context, caller, sent, |_| true).await?,
        };
        // First without a fetch, then without a write.
        self.check_files(attempt, target, known(&pending), chain)
            .await?;
        let uploads = least_uploads(&pending);
        if uploads.files > 0 {
            let checking = context.files.check_quota(caller, attempt.quota, uploads);
            checking.await?;
        }
        let judged = fetch_files(context, caller, pending).await?;
        self.check_files(attempt, target, references(&judged), chain)
            .await?;
        scan_files(context, &judged).await?;
        let stored = store_files(context, attempt, judged).await?;
        *files = MessageFiles::Stored(stored.clone());
        Ok(stored)
    }

    /// Rejects files that the engine of the agent does not take, unless staff answers in its place.
    async fn check_files(
        &self,
        attempt: &ChatAttempt,
        target: &ChatTarget,
        files: impl Iterator<Item = (usize, &FileReference)>,
        chain: &[Candidate],
    ) -> Result<(), ChatError> {
        let checked = check_files(&self.context, files, (&target.agent, chain)).await;
        let (Err(ChatError::FileNotAccepted { .. }), ConversationTarget::Existing { id, .. }) =
            (&checked, &target.conversation)
        else {
            return checked;
        };
        let (conversations, tenant) = (&self.context.ports.conversations, &attempt.caller.tenant);
        let found = conversations.find(tenant, *id).await?.value;
        if found.is_some_and(|found| found.item.handled_by == Handler::Staff) {
            return Ok(());
        }
        checked
    }

    /// Waits for the earlier turns of the conversation that are answered inline: each changes the
    /// state from which the next one is computed.
    async fn lock_conversation(
        &self,
        attempt: &ChatAttempt,
        target: &ChatTarget,
    ) -> Result<Option<ConversationLock>, ChatError> {
        let ConversationTarget::Existing { id, .. } = target.conversation else {
            return Ok(None);
        };
        let key = (attempt.caller.tenant.clone(), id);
        let on_busy = match target.superseded {
            Some(_) if attempt.idempotency.is_none() => OnBusy::Reject,
            // The turn before may be that of the key.
            Some(_) => OnBusy::Queue,
            None => attempt.command.on_busy,
        };
        let locking = self.locks.lock(key, on_busy);
        let lock = timeout(MAX_QUEUE_TIME, locking).await;
        let lock = lock.map_err(|_elapsed| ProblemCode::EngineTimeout)?;
        lock.map(Some).ok_or(ChatError::Busy)
    }

    /// Returns the tools that a client may add to its turn.
    fn client_tools(
        &self,
        attempt: &ChatAttempt,
        agent: &Agent,
    ) -> Result<Vec<ClientTool>, Vec<InputFault>> {
        let mut tools = attempt.command.client_tools.clone();
        if tools.is_empty() {
            return Ok(tools);
        }
        let is_lenient = attempt.command.omits_refused_tools;
        let is_user = attempt.caller.confined_to().is_some();
        let mut faults = Vec::new();
        if is_user && agent.config.allow_client_tools != Some(true) {
            tools.clear();
            let detail = "the agent accepts no tools from its users";
            let fault = InputFault::new("/clientTools", FaultCode::NotCombinable, detail);
            faults.push(fault);
        }
        let clashing = self.runner.clashing_tools(agent, &tools);
        for (index, own) in clashing.into_iter().rev() {
            tools.remove(index);
            if !agent
                .config
                .shows_tool(&own.definition.name, attempt.audience())
            {
                // A fault would tell users the name of a tool that they may not see.
                continue;
            }
            let mut pointer = String::from("/clientTools");
            push_index(&mut pointer, index);
            pointer.push_str("/name");
            let detail = "is the name of a tool of the agent";
            faults.push(InputFault::new(pointer, FaultCode::DuplicateItem, detail));
        }
        if is_lenient || faults.is_empty() {
            return Ok(tools);
        }
        Err(faults)
    }

    /// Checks that the model is offered the tool that it must call.
    fn check_tool_choice(
        &self,
        attempt: &ChatAttempt,
        target: &ChatTarget,
    ) -> Result<(), &'static str> {
        let choice = &attempt.command.tool_use.choice;
        if *choice == ToolChoice::Auto {
            return Ok(());
        }
        let tools = self.runner.tools_of(&target.agent, &target.client_tools);
        check_tool_choice(
            choice,
            &tools.tools,
            &target.agent.config,
            attempt.audience(),
        )
    }

    /// Computes the reply first and stores the completed turn in one write. If the engine calls a tool
    /// or fails, or if another turn runs, the turn is started instead: the tool is called, fallbacks
    /// reply, or the turn is queued.
    pub(super) async fn answer_inline(
        &self,
        attempt: &Arc<ChatAttempt>,
        InlineAttempt {
            target,
            engine,
            has_fallbacks,
            lock,
        }: InlineAttempt,
    ) -> Result<AttemptState, ChatError> {
        let engine_start = Instant::now();
        let mut request = attempt.reply_request(&target);
        if target.agent.config.names_user() {
            let (tenant, user_id) = (&request.tenant, request.user_id.as_deref());
            request.user = self.context.ports.find_user(tenant, user_id).await?;
        }
        let sink = BufferedSink::new(TurnOrigin {
            conversation: target.conversation.id(),
            is_stored: true,
            started_by: &attempt.caller.id,
            credential: Some(&attempt.credential),
            request_id: attempt.command.request_id.as_deref(),
        });
        match reply_without_tools(attempt.reply_id, &engine, &request, &sink).await {
            Ok(None) => {
                let started = self.start_turn(attempt, &target, None).await;
                // Held until here, so that the next message is not stored before this one.
                drop(lock);
                started
            }
            Ok(Some(reply)) => {
                let engine_time = engine_start.elapsed();
                self.record(attempt, target, lock, reply, engine_time).await
            }
            Err(problem) if problem.code == ProblemCode::Overloaded && !has_fallbacks => {
                // Nothing is stored: the client can send the same message again.
                Err(ChatError::Overloaded)
            }
            Err(problem) => Ok(AttemptState::Starting {
                target,
                failure: Some(problem),
            }),
        }
    }

    /// Stores a turn that was answered inline.
    async fn record(
        &self,
        attempt: &Arc<ChatAttempt>,
        target: Arc<ChatTarget>,
        lock: Option<ConversationLock>,
        reply: Reply,
        engine_time: Duration,
    ) -> Result<AttemptState, ChatError> {
        let ports = &self.context.ports;
        // The clock may have been set back while the engine replied.
        let finished_at = ports.clock.now().max(attempt.stamp.time);
        let started = attempt.turn_started(&target, attempt.message_id, Some(attempt.reply_id));
        let chat_reply = reply.chat_reply(&started, finished_at);
        let (node, tool_calls) = (self.context.node.id(), reply.tool_calls.clone());
        let completed = CompletedTurn {
            begin: attempt.begin_turn(&target, node),
            reply,
            finished_at,
        };
        let store_start = Instant::now();
        let decided = match ports.writes.write(completed).await {
            Ok(RecordTurnOutcome::Recorded {
                messages,
                committed,
            }) => Idempotent::Applied(AcceptedTurn::inline(InlineTurn {
                attempt: Arc::clone(attempt),
                target,
                node,
                messages,
                completed: CompletedChat {
                    reply: chat_reply,
                    position: Some(committed.last),
                    store: store_start.elapsed(),
                    engine: engine_time,
                },
                tool_calls,
                turns: Arc::clone(&ports.turns),
            })),
            Ok(RecordTurnOutcome::Replayed(record)) => Idempotent::Replayed(record),
            Ok(RecordTurnOutcome::Busy) => return Ok(AttemptState::starting(target)),
            Ok(RecordTurnOutcome::AgentNotFound) => return Err(ChatError::AgentNotFound),
            Ok(RecordTurnOutcome::ConversationNotFound) => {
                return Err(ChatError::ConversationNotFound);
            }
            Ok(RecordTurnOutcome::FileUnusable(file)) => return Err(file.into()),
            Err(RepositoryError::Stale { .. }) => return Ok(AttemptState::Conflicting(lock)),
            Err(error) => {
                if let (Some(lock), RepositoryError::Unavailable(_)) = (&lock, &error) {
                    lock.record_outage();
                }
                return Err(error.into());
            }
        };
        Ok(AttemptState::Decided(Ok(decided)))
    }

    /// Stores the turn as started or queued, and runs it in the background once it may. It also runs
    /// if the store confirms it only after the caller was told that the store is unavailable.
    pub(super) async fn start_turn(
        &self,
        attempt: &Arc<ChatAttempt>,
        target: &Arc<ChatTarget>,
        failure: Option<Problem>,
    ) -> Result<AttemptState, ChatError> {
        let start = TurnStart {
            context: Arc::clone(&self.context),
            runner: Arc::clone(&self.runner),
            attempt: Arc::clone(attempt),
            target: Arc::clone(target),
        };
        let starting = DetachOnDrop::new(start.run(failure), self.context.background.clone());
        match timeout(MAX_STORE_TIME, starting).await {
            Ok(started) => started,
            Err(late) => Err(RepositoryError::Unavailable(late.into()).into()),
        }
    }
}
