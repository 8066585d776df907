//! Getting an answer out of a chain of engines.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use domain::{ConversationId, FinishReason, LlmSettings, Problem, ProblemCode, ToolCall, Usage};
use futures::StreamExt;
use ports::{ReplyChunk, ReplyEngine, ReplyError, ReplyRequest, UselessAnswer};

use super::{
    error::{engine_code, engine_problem},
    live_turn::LiveTurn,
    said::{Said, ToolStep, Unreturned},
    tool_meter::ToolMeter,
};
use crate::engines::{Candidate, breakers::Leave};

/// An engine that has not answered before may still do so, and one that has not after is down.
const REASONABLE_TIME: Duration = Duration::from_secs(10);

/// What an engine answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    pub(super) content: String,
    pub(super) engine: String,
    pub(super) degraded: bool,
    pub(super) finish_reason: FinishReason,
    pub(super) usage: Option<Usage>,
    pub(super) tool_calls: Vec<ToolCall>,
}

/// Whoever hears an answer while it is given.
pub(super) trait Hearer: Sync {
    /// Who asked, for the log.
    fn origin(&self) -> Origin<'_>;

    /// Looks at what was said, or adds to it.
    fn with_said<R>(&self, look: impl FnOnce(&mut Said) -> R) -> R;

    /// Something was added.
    fn heard(&self) {}
}

/// By what a question is found in the log, beside its turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin<'a> {
    pub(super) conversation: ConversationId,
    /// The request that asked it, if this process took it.
    pub(super) request_id: Option<&'a str>,
}

impl Hearer for LiveTurn {
    fn origin(&self) -> Origin<'_> {
        let subject = self.subject();
        Origin {
            conversation: subject.conversation_id,
            request_id: subject.request_id.as_deref(),
        }
    }

    fn with_said<R>(&self, look: impl FnOnce(&mut Said) -> R) -> R {
        look(&mut self.progress().said)
    }

    fn heard(&self) {
        self.wake();
    }
}

/// Hears an answer that nobody else waits to see grow.
pub(super) struct Notes<'a> {
    origin: Origin<'a>,
    said: Mutex<Said>,
}

impl<'a> Notes<'a> {
    pub(super) fn of(origin: Origin<'a>) -> Self {
        Self {
            origin,
            said: Mutex::default(),
        }
    }
}

impl Hearer for Notes<'_> {
    fn origin(&self) -> Origin<'_> {
        self.origin
    }

    fn with_said<R>(&self, look: impl FnOnce(&mut Said) -> R) -> R {
        look(&mut self.said.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Asks the engines in turn, passing over those that are known to be down. The next one is asked
/// only while nothing was said and no tool was called: an answer is never a mix of two voices, and
/// nothing is done twice. Without an answer it is the last engine asked that says why; `failure`
/// is that of an engine that was asked before these.
pub(super) async fn answer(
    chain: &[Candidate],
    request: &ReplyRequest,
    mut failure: Option<Problem>,
    hearer: &impl Hearer,
) -> Result<Answer, Problem> {
    let mut shortest_wait = None;
    for candidate in chain {
        let mut leave = match candidate.breakers.enter() {
            Ok(leave) => leave,
            Err(wait) => {
                shortest_wait = Some(shortest_wait.map_or(wait, |other| wait.min(other)));
                continue;
            }
        };
        hearer.with_said(|said| {
            said.engine.clone_from(&candidate.name);
            said.degraded = candidate.is_fallback;
        });
        let started = Instant::now();
        let result = attempt(
            candidate,
            &mut leave,
            request_to(candidate, request),
            hearer,
        )
        .await;
        record(candidate, started.elapsed(), &result);
        if candidate.engine.is_immediate() {
            judge_immediate(leave, &result);
        } else {
            judge(leave, request.agent.config.timeout(), &result);
        }
        match result {
            Ok(end) => return Ok(answered(candidate, end, hearer)),
            Err(Unanswered { error, .. }) => {
                log_failure(candidate, request, hearer.origin(), &error);
                failure = Some(engine_problem(&error));
                // What a tool has done is not to be done twice.
                if hearer.with_said(|said| !said.is_empty()) {
                    break;
                }
            }
        }
    }
    Err(failure.unwrap_or_else(|| unasked(shortest_wait)))
}

fn answered(
    candidate: &Candidate,
    (finish_reason, usage): (FinishReason, Option<Usage>),
    hearer: &impl Hearer,
) -> Answer {
    // What was said is copied: a cancellation that comes before this is stored still keeps it.
    hearer.with_said(|said| Answer {
        content: said.text.clone(),
        engine: candidate.name.clone(),
        degraded: candidate.is_fallback,
        finish_reason,
        usage,
        tool_calls: said.tool_calls(Unreturned::Cut),
    })
}

fn log_failure(
    candidate: &Candidate,
    request: &ReplyRequest,
    origin: Origin<'_>,
    error: &ReplyError,
) {
    tracing::warn!(
        engine = candidate.name,
        error = ports::error::chain(error),
        tenant = %request.tenant,
        agent = %request.agent.id,
        conversation = %origin.conversation,
        turn = %request.turn_id,
        request_id = origin.request_id,
        "the engine gave no answer"
    );
}

/// Nobody was asked: there is no engine, or all are left alone for so long.
fn unasked(wait: Option<Duration>) -> Problem {
    if wait.is_none() {
        return Problem::new(ProblemCode::EngineFailed);
    }
    Problem::new(ProblemCode::EngineUnavailable).with_wait(wait)
}

/// An attempt that brought no answer.
#[derive(Debug)]
struct Unanswered {
    error: ReplyError,
    /// Whether the agent's time was up, of which the engine knows nothing.
    was_cut: bool,
}

/// Tells what an attempt says of the engine. One that refuses works. One that was cut while it
/// spoke, or had less time than an engine may reasonably take, says nothing, and neither does one
/// whose answer is of no use though nothing is wrong with it, or one agent could have it left alone
/// for all. A time-out counts for the other tenants only once a second tenant has had one.
fn judge<T>(leave: Leave, time: Duration, result: &Result<T, Unanswered>) {
    let Err(Unanswered { error, was_cut }) = result else {
        return leave.succeeded();
    };
    match error {
        ReplyError::Refused(_) => leave.succeeded(),
        ReplyError::Overloaded => {}
        ReplyError::TimedOut if time < REASONABLE_TIME => {}
        ReplyError::TimedOut if *was_cut && leave.has_begun() => {}
        ReplyError::TimedOut => leave.timed_out(),
        error if error.is_useless_answer() => {}
        _ => leave.failed(),
    }
}

/// Judges an engine that answers from the request alone: that takes too long by the agent's own
/// doing.
fn judge_immediate<T>(leave: Leave, result: &Result<T, Unanswered>) {
    match result {
        Err(Unanswered {
            error: ReplyError::TimedOut,
            ..
        }) => {}
        _ => judge(leave, Duration::MAX, result),
    }
}

/// The request as an engine gets it. The agent's model is a name of its own engine; a fallback
/// takes the model that the operator chose for it.
fn request_to(candidate: &Candidate, request: &ReplyRequest) -> ReplyRequest {
    let mut request = request.clone();
    let llm = request.agent.config.llm.as_ref();
    if candidate.is_fallback && llm.is_some_and(|llm| llm.model.is_some()) {
        let llm = &mut Arc::make_mut(&mut request.agent).config.llm;
        *llm = llm.take().map(|llm| LlmSettings { model: None, ..llm });
    }
    request
}

/// One engine's attempt, within the agent's time.
async fn attempt(
    candidate: &Candidate,
    leave: &mut Leave,
    request: ReplyRequest,
    hearer: &impl Hearer,
) -> Result<(FinishReason, Option<Usage>), Unanswered> {
    let time = request.agent.config.timeout();
    let collecting = collect(&candidate.engine, leave, request, hearer);
    let (result, was_cut) = match tokio::time::timeout(time, collecting).await {
        Ok(result) => (result, false),
        Err(_) => (Err(ReplyError::TimedOut), true),
    };
    result.map_err(|error| Unanswered { error, was_cut })
}

async fn collect(
    engine: &Arc<dyn ReplyEngine>,
    leave: &mut Leave,
    request: ReplyRequest,
    hearer: &impl Hearer,
) -> Result<(FinishReason, Option<Usage>), ReplyError> {
    let tools = ToolMeter::of(&request);
    let mut chunks = engine.reply(request).await?;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        if let ReplyChunk::ToolReturned(call) = &chunk {
            tools.record(call);
        }
        leave.begin();
        match chunk {
            ReplyChunk::Delta(text) => hear(hearer, |said| said.say(&text))?,
            ReplyChunk::ToolCalled { name, arguments } => {
                let step = ToolStep::Called { name, arguments };
                hear(hearer, |said| said.note(step))?;
            }
            ReplyChunk::ToolReturned(call) => {
                hear(hearer, |said| said.note(ToolStep::Returned(call)))?;
            }
            ReplyChunk::End {
                finish_reason,
                usage,
            } => return Ok((finish_reason, usage)),
        }
    }
    Err(ReplyError::CutOff("the answer has no end".into()))
}

fn hear(hearer: &impl Hearer, take: impl FnOnce(&mut Said) -> bool) -> Result<(), ReplyError> {
    if !hearer.with_said(take) {
        // Who is told to say and do so much, and lets it, does as it should.
        let cause = UselessAnswer("the answer is too long");
        return Err(ReplyError::BadAnswer(cause.into()));
    }
    hearer.heard();
    Ok(())
}

fn record<T>(candidate: &Candidate, took: Duration, result: &Result<T, Unanswered>) {
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

#[cfg(test)]
mod tests;
