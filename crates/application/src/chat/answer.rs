//! Getting an answer out of a chain of engines.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use domain::{FinishReason, ToolCall, Usage};
use futures::StreamExt;
use ports::{ReplyChunk, ReplyEngine, ReplyError, ReplyRequest};

use super::live_turn::{LiveTurn, Said, ToolEvent};
use crate::engines::Candidate;

/// An answer longer than this is refused as bad: no engine is trusted with the memory.
const ANSWER_BYTES: usize = 1024 * 1024;

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
    /// Looks at what was said, or adds to it.
    fn with_said<R>(&self, look: impl FnOnce(&mut Said) -> R) -> R;

    /// Something was added.
    fn heard(&self) {}
}

impl Hearer for LiveTurn {
    fn with_said<R>(&self, look: impl FnOnce(&mut Said) -> R) -> R {
        look(&mut self.progress().said)
    }

    fn heard(&self) {
        self.wake();
    }
}

/// Hears an answer that nobody else waits to see grow.
#[derive(Default)]
pub(super) struct Notes(Mutex<Said>);

impl Hearer for Notes {
    fn with_said<R>(&self, look: impl FnOnce(&mut Said) -> R) -> R {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Asks the engines in turn. The next one is asked only while nothing was said: an answer is never
/// a mix of two voices. Answers the last error when none speaks, `None` when there is no engine.
pub(super) async fn answer(
    chain: &[Candidate],
    request: &ReplyRequest,
    hearer: &impl Hearer,
) -> Option<Result<Answer, ReplyError>> {
    let mut last = None;
    for candidate in chain {
        hearer.with_said(|said| {
            said.engine.clone_from(&candidate.name);
            said.degraded = candidate.is_fallback;
        });
        let started = Instant::now();
        let result = attempt(&candidate.engine, request.clone(), hearer).await;
        record(candidate, started.elapsed(), &result);
        match result {
            Ok((finish_reason, usage)) => {
                return Some(Ok(Answer {
                    // A cancellation that comes before this is stored still keeps the text.
                    content: hearer.with_said(|said| said.text.clone()),
                    engine: candidate.name.clone(),
                    degraded: candidate.is_fallback,
                    finish_reason,
                    usage,
                    tool_calls: hearer.with_said(|said| said.tool_calls()),
                }));
            }
            Err(error) => {
                tracing::warn!(
                    engine = candidate.name,
                    error = ports::error::chain(&error),
                    "the engine gave no answer"
                );
                last = Some(Err(error));
                if hearer.with_said(|said| !said.text.is_empty()) {
                    break;
                }
            }
        }
    }
    last
}

/// One engine's attempt, within the agent's time.
async fn attempt(
    engine: &Arc<dyn ReplyEngine>,
    request: ReplyRequest,
    hearer: &impl Hearer,
) -> Result<(FinishReason, Option<Usage>), ReplyError> {
    let time = request.agent.config.timeout();
    tokio::time::timeout(time, collect(engine, request, hearer))
        .await
        .unwrap_or(Err(ReplyError::TimedOut))
}

async fn collect(
    engine: &Arc<dyn ReplyEngine>,
    request: ReplyRequest,
    hearer: &impl Hearer,
) -> Result<(FinishReason, Option<Usage>), ReplyError> {
    let mut chunks = engine.reply(request).await?;
    while let Some(chunk) = chunks.next().await {
        match chunk? {
            ReplyChunk::Delta(text) => hear(hearer, &text)?,
            ReplyChunk::ToolCalled { name, arguments } => {
                note(hearer, ToolEvent::Called { name, arguments });
            }
            ReplyChunk::ToolReturned(call) => note(hearer, ToolEvent::Returned(call)),
            ReplyChunk::End {
                finish_reason,
                usage,
            } => return Ok((finish_reason, usage)),
        }
    }
    Err(ReplyError::BadAnswer("the answer has no end".into()))
}

fn note(hearer: &impl Hearer, event: ToolEvent) {
    hearer.with_said(|said| said.tools.push(event));
    hearer.heard();
}

fn hear(hearer: &impl Hearer, text: &str) -> Result<(), ReplyError> {
    let fits = hearer.with_said(|said| {
        let fits = said.text.len() + text.len() <= ANSWER_BYTES;
        if fits {
            said.text.push_str(text);
        }
        fits
    });
    if !fits {
        return Err(ReplyError::BadAnswer("the answer is too long".into()));
    }
    hearer.heard();
    Ok(())
}

fn record<T>(candidate: &Candidate, took: Duration, result: &Result<T, ReplyError>) {
    let outcome = match result {
        Ok(_) => "ok",
        Err(error) => super::error::engine_problem(error).slug(),
    };
    let labels = [
        ("engine", candidate.name.clone()),
        ("outcome", outcome.to_owned()),
    ];
    metrics::histogram!("engine_seconds", &labels).record(took.as_secs_f64());
}
