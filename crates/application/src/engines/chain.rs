//! Calls of a chain of engines, until one of them replies.

use std::{sync::Arc, time::Duration};

use domain::{
    ConversationId, CredentialSource, FinishReason, MessageId, PrincipalId, Problem, ProblemCode,
};
use parking_lot::Mutex;
use ports::{ModelRequest, ReplyError};
use writes::Reply;

use tokio::time::timeout;

use super::{
    Candidate,
    agent_loop::run_agent_loop,
    attempt::{attempt, engine_problem, request_to},
    journal::Journal,
    partial_reply::{OpenCallStatus, PartialReply},
};

/// The maximum time of a reply with all its requests to the model and its tool calls, which have
/// limits of their own.
const MAX_REPLY_TIME: Duration = Duration::from_mins(30);

/// The destination of a reply while an engine produces it.
pub(crate) trait ReplySink: Sync {
    /// Returns the conversation, sender and request of the turn.
    fn origin(&self) -> TurnOrigin<'_>;

    /// Reads or changes the reply so far.
    fn with_reply<R>(&self, change: impl FnOnce(&mut PartialReply) -> R) -> R;

    /// Reports that the reply has grown.
    fn notify(&self) {}
}

/// The conversation, sender and request of a turn, which the log and tools need and engines do not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnOrigin<'a> {
    pub(crate) conversation: ConversationId,
    /// False if nothing of the turn is stored, so that the conversation does not exist.
    pub(crate) is_stored: bool,
    /// The principal that sent the message.
    pub(crate) started_by: &'a PrincipalId,
    /// The credential of this principal, if this process received the message.
    pub(crate) credential: Option<&'a Arc<CredentialSource>>,
    /// The HTTP request that sent the message, if this process received it.
    pub(crate) request_id: Option<&'a str>,
}

/// Buffers a reply that is only read when it is complete.
pub(crate) struct BufferedSink<'a> {
    origin: TurnOrigin<'a>,
    reply: Mutex<PartialReply>,
}

impl<'a> BufferedSink<'a> {
    pub(crate) fn new(origin: TurnOrigin<'a>) -> Self {
        Self {
            origin,
            reply: Mutex::default(),
        }
    }
}

impl ReplySink for BufferedSink<'_> {
    fn origin(&self) -> TurnOrigin<'_> {
        self.origin
    }

    fn with_reply<R>(&self, change: impl FnOnce(&mut PartialReply) -> R) -> R {
        change(&mut self.reply.lock())
    }
}

/// Calls the engines in order, except those with an open circuit breaker. The next engine is called
/// only if the previous one returned no text and called no tool: a reply never mixes two engines,
/// and no tool call is repeated. Returns the failure of the last engine that was called; `failure`
/// is that of an engine that was called before these. `message_id` is the id of the agent's message. A turn
/// with a journal is continued only by the engine that has begun it.
pub(crate) async fn run_engine_chain(
    message_id: MessageId,
    chain: &[Candidate],
    request: &ModelRequest,
    mut failure: Option<Problem>,
    sink: &impl ReplySink,
    journal: Option<&Journal<'_>>,
) -> Result<Reply, Problem> {
    let mut shortest_wait = None;
    let begun_by = journal.and_then(Journal::engine);
    let may_reply = |it: &&Candidate| begun_by.as_ref().is_none_or(|name| *name == it.name);
    for candidate in chain.iter().filter(may_reply) {
        let permit = match candidate.breakers.enter() {
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
        let own = request_to(candidate, request);
        let replying = run_agent_loop(candidate, permit, own, sink, journal);
        let late = |_elapsed| Err(ReplyError::TimedOut);
        let replied = timeout(MAX_REPLY_TIME, replying).await;
        match replied.unwrap_or_else(late) {
            Ok(finish_reason) => return Ok(complete(message_id, candidate, finish_reason, sink)),
            Err(error) => {
                log_failure(candidate, request, sink.origin(), &error);
                failure = Some(engine_problem(&error));
                if sink.with_reply(|reply| !reply.is_empty()) {
                    break;
                }
            }
        }
    }
    Err(failure.unwrap_or_else(|| no_engine_called(shortest_wait)))
}

/// Sends one request to an engine. Returns `None` if it calls a tool: a call needs a stored turn.
pub(crate) async fn reply_without_tools(
    message_id: MessageId,
    candidate: &Candidate,
    request: &ModelRequest,
    sink: &impl ReplySink,
) -> Result<Option<Reply>, Problem> {
    let permit = candidate.breakers.enter();
    let permit = permit.map_err(|wait| no_engine_called(Some(wait)))?;
    match attempt(candidate, permit, request.clone(), sink).await {
        Ok(response) if response.wants_tools() => Ok(None),
        Ok(response) => {
            let finish_reason = response.finish_reason;
            Ok(Some(complete(message_id, candidate, finish_reason, sink)))
        }
        Err(error) => {
            log_failure(candidate, request, sink.origin(), &error);
            Err(engine_problem(&error))
        }
    }
}

fn complete(
    message_id: MessageId,
    candidate: &Candidate,
    finish_reason: FinishReason,
    sink: &impl ReplySink,
) -> Reply {
    // The text is copied, because a cancellation before the reply is stored still needs it.
    sink.with_reply(|reply| Reply {
        message_id,
        content: reply.text.clone(),
        engine: candidate.name.clone(),
        degraded: candidate.is_fallback,
        finish_reason,
        usage: reply.requests.usage(),
        requests: reply.requests.to_models(),
        tool_calls: reply.tool_calls(OpenCallStatus::Cut),
    })
}

fn log_failure(
    candidate: &Candidate,
    request: &ModelRequest,
    origin: TurnOrigin<'_>,
    error: &ReplyError,
) {
    tracing::warn!(
        engine = candidate.name,
        error = ports::error::one_line(error),
        tenant = %request.tenant,
        agent = %request.agent.id,
        conversation = %origin.conversation,
        turn = %request.turn_id,
        request_id = origin.request_id,
        "reply engine failed"
    );
}

/// Returns the problem of a chain in which no engine was called: the chain is empty, or all circuit
/// breakers are open for at least `wait`.
fn no_engine_called(wait: Option<Duration>) -> Problem {
    if wait.is_none() {
        return Problem::new(ProblemCode::EngineFailed);
    }
    Problem::new(ProblemCode::EngineUnavailable).with_retry_after(wait)
}
