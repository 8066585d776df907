//! One attempt at a reply with one engine, and its report to the circuit breaker.

use std::{sync::Arc, time::Duration};

use domain::{FinishReason, LlmSettings, Problem, ProblemCode, Usage};
use futures::StreamExt;
use ports::{ReplyChunk, ReplyEngine, ReplyError, ReplyRequest, UnusableReply};

use super::{
    Candidate,
    chain::ReplySink,
    engine_breakers::AttemptPermit,
    partial_reply::{PartialReply, ToolStep},
};
use crate::toolbox::ToolMetrics;

/// The minimum time-out of an agent whose expiry counts as a failure of the engine.
const MIN_COUNTED_TIMEOUT: Duration = Duration::from_secs(10);

/// An attempt without a reply.
#[derive(Debug)]
pub(super) struct FailedAttempt {
    pub(super) error: ReplyError,
    /// True if the agent's time-out ended the attempt, rather than the engine.
    pub(super) was_cut: bool,
}

/// Calls one engine within the agent's time-out, and reports the outcome to the circuit breaker.
pub(super) async fn attempt(
    candidate: &Candidate,
    mut permit: AttemptPermit,
    request: &ReplyRequest,
    sink: &impl ReplySink,
) -> Result<(FinishReason, Option<Usage>), FailedAttempt> {
    let time = request.agent.config.timeout();
    let request = request_to(candidate, request);
    let collecting = collect(&candidate.engine, &mut permit, request, sink);
    let (result, was_cut) = match tokio::time::timeout(time, collecting).await {
        Ok(result) => (result, false),
        Err(_) => (Err(ReplyError::TimedOut), true),
    };
    let result = result.map_err(|error| FailedAttempt { error, was_cut });
    report(permit, time, &result);
    result
}

/// Returns the request for one engine. The agent's model belongs to its own engine; a fallback uses
/// the operator's model.
fn request_to(candidate: &Candidate, request: &ReplyRequest) -> ReplyRequest {
    let mut request = request.clone();
    let llm = request.agent.config.llm.as_ref();
    if candidate.is_fallback && llm.is_some_and(|llm| llm.model.is_some()) {
        let llm = &mut Arc::make_mut(&mut request.agent).config.llm;
        *llm = llm.take().map(|llm| LlmSettings { model: None, ..llm });
    }
    request
}

async fn collect(
    engine: &Arc<dyn ReplyEngine>,
    permit: &mut AttemptPermit,
    request: ReplyRequest,
    sink: &impl ReplySink,
) -> Result<(FinishReason, Option<Usage>), ReplyError> {
    let tools = ToolMetrics::of(&request);
    let turn = request.turn_id;
    let mut chunks = engine.reply(request).await?;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        if let ReplyChunk::ToolReturned(call) = &chunk {
            tools.record(call);
        }
        permit.begin();
        match chunk {
            ReplyChunk::Delta(text) => push(sink, |reply| reply.push_text(&text))?,
            ReplyChunk::ToolCalled { name, arguments } => {
                let step = ToolStep::Called { name, arguments };
                push(sink, |reply| reply.push_tool_step(turn, step))?;
            }
            ReplyChunk::ToolReturned(call) => {
                let step = ToolStep::Returned(call);
                push(sink, |reply| reply.push_tool_step(turn, step))?;
            }
            ReplyChunk::End {
                finish_reason,
                usage,
            } => return Ok((finish_reason, usage)),
        }
    }
    Err(ReplyError::CutOff("the reply has no end".into()))
}

/// Adds to the reply, and reports its growth; fails if the addition does not fit.
fn push(
    sink: &impl ReplySink,
    add: impl FnOnce(&mut PartialReply) -> bool,
) -> Result<(), ReplyError> {
    if !sink.with_reply(add) {
        // Not a failure of the engine: an agent can request a reply of any length.
        let cause = UnusableReply("the reply is too long");
        return Err(ReplyError::InvalidReply(cause.into()));
    }
    sink.notify();
    Ok(())
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
