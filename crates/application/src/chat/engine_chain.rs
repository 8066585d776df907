//! Asking a chain of engines for a reply.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use domain::{
    ConversationId, FinishReason, LlmSettings, MessageId, Problem, ProblemCode, ToolCall, Usage,
};
use futures::StreamExt;
use ports::{Reply, ReplyChunk, ReplyEngine, ReplyError, ReplyRequest, UnusableAnswer};

use super::{
    error::{engine_code, engine_problem},
    live_turn::LiveTurn,
    partial_reply::{OpenCallStatus, PartialReply, ToolStep},
};
use crate::{
    engines::{Candidate, breakers::AttemptPermit},
    toolbox::ToolMetrics,
};

/// The shortest time-out that says something about an engine.
const MIN_JUDGED_TIMEOUT: Duration = Duration::from_secs(10);

/// The complete answer of an engine.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EngineAnswer {
    pub(super) content: String,
    pub(super) engine: String,
    pub(super) degraded: bool,
    pub(super) finish_reason: FinishReason,
    pub(super) usage: Option<Usage>,
    pub(super) tool_calls: Vec<ToolCall>,
}

impl EngineAnswer {
    /// The reply to store.
    pub(super) fn into_reply(self, message_id: MessageId) -> Reply {
        Reply {
            message_id,
            content: self.content,
            engine: self.engine,
            degraded: self.degraded,
            finish_reason: self.finish_reason,
            usage: self.usage,
            tool_calls: self.tool_calls,
        }
    }
}

/// Receives an answer while it grows.
pub(super) trait ReplySink: Sync {
    /// The ids under which failures are logged.
    fn log_context(&self) -> LogContext<'_>;

    /// Reads or changes the reply so far.
    fn with_reply<R>(&self, look: impl FnOnce(&mut PartialReply) -> R) -> R;

    /// Reports that the reply has grown.
    fn notify(&self) {}
}

/// The ids under which a turn's failures are logged, beside the turn's own.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogContext<'a> {
    pub(super) conversation: ConversationId,
    /// The request that sent the message, if this process received it.
    pub(super) request_id: Option<&'a str>,
}

impl ReplySink for LiveTurn {
    fn log_context(&self) -> LogContext<'_> {
        let subject = self.subject();
        LogContext {
            conversation: subject.conversation_id,
            request_id: subject.request_id.as_deref(),
        }
    }

    fn with_reply<R>(&self, look: impl FnOnce(&mut PartialReply) -> R) -> R {
        look(&mut self.progress().reply)
    }

    fn notify(&self) {
        self.wake();
    }
}

/// Buffers an answer whose growth nobody follows.
pub(super) struct BufferedSink<'a> {
    log_context: LogContext<'a>,
    reply: Mutex<PartialReply>,
}

impl<'a> BufferedSink<'a> {
    pub(super) fn new(log_context: LogContext<'a>) -> Self {
        Self {
            log_context,
            reply: Mutex::default(),
        }
    }
}

impl ReplySink for BufferedSink<'_> {
    fn log_context(&self) -> LogContext<'_> {
        self.log_context
    }

    fn with_reply<R>(&self, look: impl FnOnce(&mut PartialReply) -> R) -> R {
        look(&mut self.reply.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Asks the engines in order, except those with an open circuit breaker. The next engine is asked
/// only if the one before returned no text and called no tool: a reply never mixes two engines, and
/// no tool call is repeated. Returns the failure of the last engine that was asked; `failure` is
/// that of an engine that was asked before these.
pub(super) async fn run_engine_chain(
    chain: &[Candidate],
    request: &ReplyRequest,
    mut failure: Option<Problem>,
    sink: &impl ReplySink,
) -> Result<EngineAnswer, Problem> {
    let mut shortest_wait = None;
    for candidate in chain {
        let mut permit = match candidate.breakers.enter() {
            Ok(permit) => permit,
            Err(wait) => {
                shortest_wait = Some(shortest_wait.map_or(wait, |other| wait.min(other)));
                continue;
            }
        };
        sink.with_reply(|reply| {
            reply.engine.clone_from(&candidate.name);
            reply.degraded = candidate.is_fallback;
        });
        let started = Instant::now();
        let result = attempt(candidate, &mut permit, request_to(candidate, request), sink).await;
        record(candidate, started.elapsed(), &result);
        if candidate.engine.is_immediate() {
            judge_immediate(permit, &result);
        } else {
            judge(permit, request.agent.config.timeout(), &result);
        }
        match result {
            Ok(end) => return Ok(complete(candidate, end, sink)),
            Err(FailedAttempt { error, .. }) => {
                log_failure(candidate, request, sink.log_context(), &error);
                failure = Some(engine_problem(&error));
                // No tool call is repeated.
                if sink.with_reply(|reply| !reply.is_empty()) {
                    break;
                }
            }
        }
    }
    Err(failure.unwrap_or_else(|| no_engine_asked(shortest_wait)))
}

fn complete(
    candidate: &Candidate,
    (finish_reason, usage): (FinishReason, Option<Usage>),
    sink: &impl ReplySink,
) -> EngineAnswer {
    // The text is copied, because a cancellation before the answer is stored still needs it.
    sink.with_reply(|reply| EngineAnswer {
        content: reply.text.clone(),
        engine: candidate.name.clone(),
        degraded: candidate.is_fallback,
        finish_reason,
        usage,
        tool_calls: reply.tool_calls(OpenCallStatus::Cut),
    })
}

fn log_failure(
    candidate: &Candidate,
    request: &ReplyRequest,
    context: LogContext<'_>,
    error: &ReplyError,
) {
    tracing::warn!(
        engine = candidate.name,
        error = ports::error::chain(error),
        tenant = %request.tenant,
        agent = %request.agent.id,
        conversation = %context.conversation,
        turn = %request.turn_id,
        request_id = context.request_id,
        "reply engine failed"
    );
}

/// The problem if no engine was asked: there is none, or all circuit breakers are open for at least
/// `wait`.
fn no_engine_asked(wait: Option<Duration>) -> Problem {
    if wait.is_none() {
        return Problem::new(ProblemCode::EngineFailed);
    }
    Problem::new(ProblemCode::EngineUnavailable).with_wait(wait)
}

/// An attempt without an answer.
#[derive(Debug)]
pub(super) struct FailedAttempt {
    pub(super) error: ReplyError,
    /// Whether the agent's time-out ended the attempt, rather than the engine.
    pub(super) was_cut: bool,
}

/// Reports the outcome of an attempt to the circuit breaker. A refusal shows that the engine works.
/// Not counted are attempts that were cut while the engine was answering or that had a very short
/// time-out, and unusable answers: otherwise one agent could open the breaker for all. A time-out
/// counts for other tenants only once a second tenant has had one.
pub(super) fn judge<T>(permit: AttemptPermit, time: Duration, result: &Result<T, FailedAttempt>) {
    let Err(FailedAttempt { error, was_cut }) = result else {
        return permit.succeeded();
    };
    match error {
        ReplyError::Refused(_) => permit.succeeded(),
        ReplyError::Overloaded => {}
        ReplyError::TimedOut if time < MIN_JUDGED_TIMEOUT => {}
        ReplyError::TimedOut if *was_cut && permit.has_begun() => {}
        ReplyError::TimedOut => permit.timed_out(),
        error if error.is_useless_answer() => {}
        _ => permit.failed(),
    }
}

/// Does the same for an immediate engine, whose time-outs are caused by the agent's configuration.
fn judge_immediate<T>(permit: AttemptPermit, result: &Result<T, FailedAttempt>) {
    match result {
        Err(FailedAttempt {
            error: ReplyError::TimedOut,
            ..
        }) => {}
        _ => judge(permit, Duration::MAX, result),
    }
}

/// The request for one engine. The agent's model belongs to its own engine; a fallback uses the
/// operator's model.
fn request_to(candidate: &Candidate, request: &ReplyRequest) -> ReplyRequest {
    let mut request = request.clone();
    let llm = request.agent.config.llm.as_ref();
    if candidate.is_fallback && llm.is_some_and(|llm| llm.model.is_some()) {
        let llm = &mut Arc::make_mut(&mut request.agent).config.llm;
        *llm = llm.take().map(|llm| LlmSettings { model: None, ..llm });
    }
    request
}

/// Asks one engine, within the agent's time-out.
async fn attempt(
    candidate: &Candidate,
    permit: &mut AttemptPermit,
    request: ReplyRequest,
    sink: &impl ReplySink,
) -> Result<(FinishReason, Option<Usage>), FailedAttempt> {
    let time = request.agent.config.timeout();
    let collecting = collect(&candidate.engine, permit, request, sink);
    let (result, was_cut) = match tokio::time::timeout(time, collecting).await {
        Ok(result) => (result, false),
        Err(_) => (Err(ReplyError::TimedOut), true),
    };
    result.map_err(|error| FailedAttempt { error, was_cut })
}

async fn collect(
    engine: &Arc<dyn ReplyEngine>,
    permit: &mut AttemptPermit,
    request: ReplyRequest,
    sink: &impl ReplySink,
) -> Result<(FinishReason, Option<Usage>), ReplyError> {
    let tools = ToolMetrics::of(&request);
    let mut chunks = engine.reply(request).await?;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        if let ReplyChunk::ToolReturned(call) = &chunk {
            tools.record(call);
        }
        permit.begin();
        match chunk {
            ReplyChunk::Delta(text) => add(sink, |reply| reply.push_text(&text))?,
            ReplyChunk::ToolCalled { name, arguments } => {
                let step = ToolStep::Called { name, arguments };
                add(sink, |reply| reply.push_tool_step(step))?;
            }
            ReplyChunk::ToolReturned(call) => {
                add(sink, |reply| reply.push_tool_step(ToolStep::Returned(call)))?;
            }
            ReplyChunk::End {
                finish_reason,
                usage,
            } => return Ok((finish_reason, usage)),
        }
    }
    Err(ReplyError::CutOff("the answer has no end".into()))
}

fn add(
    sink: &impl ReplySink,
    push: impl FnOnce(&mut PartialReply) -> bool,
) -> Result<(), ReplyError> {
    if !sink.with_reply(push) {
        // Not a failure of the engine: an agent can ask it for that much.
        let cause = UnusableAnswer("the answer is too long");
        return Err(ReplyError::BadAnswer(cause.into()));
    }
    sink.notify();
    Ok(())
}

fn record<T>(candidate: &Candidate, took: Duration, result: &Result<T, FailedAttempt>) {
    let outcome = match result {
        Ok(_) => "ok",
        Err(failure) => engine_code(&failure.error).slug(),
    };
    let labels = [
        ("engine", candidate.name.clone()),
        ("outcome", outcome.to_owned()),
    ];
    metrics::histogram!("engine_seconds", &labels).record(took.as_secs_f64());
}
