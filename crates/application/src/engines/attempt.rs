//! One request to the model of an engine, and its report to the circuit breaker.

use std::{
    mem,
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{
    FileKinds, FinishReason, HistoryMessage, LlmSettings, ModelStep, PastCalls, PastEnding,
    Problem, ProblemCode, Role, history::past_calls::without_state, is_model_name,
    tool_call::json_bytes,
};
use futures::StreamExt;
use ports::{ModelChunk, ModelRequest, ReplyEngine, ReplyError, RequestedCall, UnusableReply};
use serde_json::Value;

use super::{
    Candidate, chain::ReplySink, engine_breakers::AttemptPermit, partial_reply::PartialReply,
};

/// The minimum time-out of an agent whose expiry counts as a failure of the engine.
const MIN_COUNTED_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum size of what an engine wants to see again with a step, as JSON.
const MAX_STATE_BYTES: usize = 256 * 1024;

/// The response to a request. Its text is in the reply.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) calls: Vec<RequestedCall>,
    pub(super) finish_reason: FinishReason,
    /// The model, if the engine reported it.
    pub(super) model: Option<String>,
    pub(super) state: Option<Value>,
}

impl Response {
    /// Returns whether the model waits for the results of its calls. A tool call that was truncated
    /// or filtered is not executed.
    pub(super) fn wants_tools(&self) -> bool {
        !self.calls.is_empty() && self.finish_reason == FinishReason::Stop
    }
}

/// A request without a response.
#[derive(Debug)]
pub(super) struct FailedAttempt {
    pub(super) error: ReplyError,
    /// True if the agent's time-out ended the request, rather than the engine.
    pub(super) was_cut: bool,
}

/// Sends one request to an engine within the agent's time-out, notes it in the reply, and reports the
/// outcome to the circuit breaker.
pub(super) async fn attempt(
    candidate: &Candidate,
    mut permit: AttemptPermit,
    request: ModelRequest,
    sink: &impl ReplySink,
) -> Result<Response, ReplyError> {
    let (time, started) = (request.agent.config.timeout(), Instant::now());
    sink.with_reply(|reply| reply.begin_request(candidate, &request.agent));
    let collecting = collect(&candidate.engine, &mut permit, request, sink);
    let (result, was_cut) = match tokio::time::timeout(time, collecting).await {
        Ok(result) => (result, false),
        Err(_) => (Err(ReplyError::TimedOut), true),
    };
    let result = result.map_err(|error| FailedAttempt { error, was_cut });
    let is_refused = |failed: &FailedAttempt| failed.error.is_refusal();
    if !permit.has_begun() && result.as_ref().is_err_and(is_refused) {
        sink.with_reply(|reply| reply.requests.withdraw());
    }
    report(permit, time, &result);
    record(candidate, started.elapsed(), &result);
    result.map_err(|failed| failed.error)
}

/// Returns the request for one engine. The agent's model belongs to its own engine; a fallback uses the one that it names,
/// or the operator's. The agent's members of requests belong to its own provider. Earlier steps of the same turn are
/// only those of this engine and model: others appear as the calls of an earlier turn.
pub(super) fn request_to(candidate: &Candidate, request: &ModelRequest) -> ModelRequest {
    let mut request = request.clone();
    let llm = request.agent.config.llm.as_ref();
    let is_own = |llm: &LlmSettings| llm.model.is_some() || llm.extra_body.is_some();
    if candidate.is_fallback && (candidate.model.is_some() || llm.is_some_and(is_own)) {
        let llm = &mut Arc::make_mut(&mut request.agent).config.llm;
        let own = llm.take().unwrap_or_default();
        *llm = Some(LlmSettings {
            model: candidate.model.clone(),
            extra_body: own.extra_body.filter(|_| candidate.is_own_engine),
            ..own
        });
    }
    let is_own = |step: &Arc<ModelStep>| {
        // An earlier step does not tell its model.
        step.response.engine == candidate.name && !candidate.shares_engine
    };
    if request.tools.is_empty() || !request.earlier_steps.iter().all(is_own) {
        move_to_history(&mut request);
    }
    request
}

impl Candidate {
    /// Returns the kinds of files that the model takes which receives a request.
    pub(crate) async fn inputs(&self, request: &ModelRequest) -> FileKinds {
        let request = request_to(self, request);
        self.engine.inputs(&request.agent.config).await
    }
}

/// Moves the earlier steps of a request into its history, after the message for which they were made.
fn move_to_history(request: &mut ModelRequest) {
    let steps = without_state(&mem::take(&mut request.earlier_steps));
    if steps.is_empty() {
        return;
    }
    let calls = PastCalls {
        steps,
        ending: Some(PastEnding::Replaced),
        ..PastCalls::default()
    };
    let last = request.history.last().map_or(0, |last| last.seq);
    Arc::make_mut(&mut request.history).push(HistoryMessage {
        calls: Some(Arc::new(calls)),
        ..HistoryMessage::new(last + 1, Role::User, &*request.message)
    });
}

async fn collect(
    engine: &Arc<dyn ReplyEngine>,
    permit: &mut AttemptPermit,
    request: ModelRequest,
    sink: &impl ReplySink,
) -> Result<Response, ReplyError> {
    let shown_to = request.agent.config.show_reasoning();
    let mut calls = Vec::new();
    let mut chunks = engine.request(request).await?;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        permit.begin();
        match chunk {
            ModelChunk::Text(text) => grow(sink, |reply| reply.push_text(&text).then_some(()))?,
            ModelChunk::Reasoning(text) => {
                if sink.with_reply(|reply| reply.reasoning.push(&text, shown_to)) {
                    sink.notify();
                }
            }
            ModelChunk::ToolCall(call) => calls.push(call),
            ModelChunk::End {
                finish_reason,
                usage,
                model,
                state,
            } => {
                let model = model.filter(|name| is_model_name(name));
                sink.with_reply(|reply| reply.requests.report(usage, model.clone()));
                let response = Response {
                    calls,
                    finish_reason,
                    model,
                    state,
                };
                check(engine, &response, sink)?;
                return Ok(response);
            }
        }
    }
    Err(ReplyError::CutOff("the reply has no end".into()))
}

/// Adds to the reply, and reports its growth; fails if the addition does not fit.
pub(super) fn grow<R>(
    sink: &impl ReplySink,
    add: impl FnOnce(&mut PartialReply) -> Option<R>,
) -> Result<R, ReplyError> {
    // Not a failure of the engine: an agent can request a reply of any length.
    let added = sink.with_reply(add);
    let added = added.ok_or_else(|| unusable("the reply is too long"))?;
    sink.notify();
    Ok(added)
}

/// Fails if a response cannot be used.
fn check(
    engine: &Arc<dyn ReplyEngine>,
    response: &Response,
    sink: &impl ReplySink,
) -> Result<(), ReplyError> {
    let state = response.state.as_ref();
    if state.is_some_and(|state| json_bytes(state) > MAX_STATE_BYTES) {
        return Err(unusable(
            "the model's reasoning before a tool call is too long",
        ));
    }
    // Some models, and proxies in front of failed servers, return an empty completion. After a tool
    // call, the text before the call would otherwise count as the whole reply.
    let is_blank = || sink.with_reply(|reply| reply.section().trim().is_empty());
    let may_be_blank = response.wants_tools() || response.finish_reason != FinishReason::Stop;
    if !may_be_blank && !engine.is_immediate() && is_blank() {
        return Err(unusable("the model returned an empty reply"));
    }
    Ok(())
}

/// Returns the error of a reply that is well-formed but unusable.
pub(super) fn unusable(reason: &'static str) -> ReplyError {
    ReplyError::InvalidReply(UnusableReply(reason).into())
}

/// Records the time and the outcome of a request as a metric.
fn record<T>(candidate: &Candidate, took: Duration, result: &Result<T, FailedAttempt>) {
    let outcome = match result {
        Ok(_) => "ok".to_owned(),
        Err(failure) => engine_code(&failure.error).as_str().to_owned(),
    };
    let labels = [("engine", candidate.name.clone()), ("outcome", outcome)];
    metrics::histogram!("engine_seconds", &labels).record(took.as_secs_f64());
}

/// Reports the outcome of an attempt to the circuit breaker. A refusal shows that the engine works.
/// Attempts that were cut while the engine was replying or that had a very short time-out, and
/// unusable replies, are not counted: otherwise one agent could open the breaker for all. The
/// permit decides about the other time-outs.
fn report<T>(permit: AttemptPermit, time: Duration, result: &Result<T, FailedAttempt>) {
    let Err(FailedAttempt { error, was_cut }) = result else {
        return permit.succeeded();
    };
    match error {
        ReplyError::Rejected(_) => permit.succeeded(),
        ReplyError::Overloaded => {}
        ReplyError::TimedOut if time < MIN_COUNTED_TIMEOUT => {}
        ReplyError::TimedOut if *was_cut && permit.has_begun() => {}
        ReplyError::TimedOut => permit.timed_out(),
        error if error.is_unusable_reply() => {}
        _ => permit.failed(),
    }
}

/// Returns the problem that clients receive for an engine's error. Causes are logged; only some may
/// also be told.
pub(super) fn engine_problem(error: &ReplyError) -> Problem {
    let wait = match error {
        ReplyError::RateLimited { retry_after } => *retry_after,
        _ => None,
    };
    Problem {
        retryable: error.is_retryable(),
        cause: error.told_cause().map(Into::into),
        ..Problem::new(engine_code(error)).with_retry_after(wait)
    }
}

/// Returns the code of the problem for an engine's error.
pub(super) fn engine_code(error: &ReplyError) -> ProblemCode {
    match error {
        ReplyError::Unavailable(_) | ReplyError::RateLimited { .. } => {
            ProblemCode::EngineUnavailable
        }
        ReplyError::Overloaded => ProblemCode::Overloaded,
        ReplyError::TimedOut => ProblemCode::EngineTimeout,
        ReplyError::Rejected(_) | ReplyError::InvalidReply(_) | ReplyError::CutOff(_) => {
            ProblemCode::EngineFailed
        }
    }
}

#[cfg(test)]
mod tests;
