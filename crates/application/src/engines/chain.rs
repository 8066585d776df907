//! Calls of a chain of engines, until one of them replies.

use std::{sync::Arc, time::Duration};

use domain::{ConversationId, CredentialSource, MessageId, PrincipalId, Problem, ProblemCode};
use parking_lot::Mutex;
use ports::{ModelRequest, ReplyError};
use writes::Reply;

use tokio::time::timeout;

use super::{
    Candidate,
    agent_loop::{LoopEnd, ReplyFailure, finish_reply, run_agent_loop},
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
    if is_final(failure.as_ref()) {
        return Err(failure.unwrap_or_else(|| no_engine_called(None)));
    }
    let mut shortest_wait = None;
    for candidate in possible(chain, request, journal.and_then(Journal::engine)) {
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
        withhold_draft(request, sink);
        let own = request_to(candidate, request);
        let replying = run_agent_loop(candidate, permit, own, sink, journal);
        let late = |_elapsed| Err(ReplyError::TimedOut.into());
        let replied = timeout(MAX_REPLY_TIME, replying).await;
        match replied.unwrap_or_else(late) {
            Ok(end) => return Ok(complete(message_id, candidate, end, sink)),
            Err(error) => {
                log_failure(candidate, request, sink.origin(), &error);
                failure = Some(problem_of(candidate, &error));
                if is_final(failure.as_ref()) || sink.with_reply(|reply| !reply.is_empty()) {
                    break;
                }
                sink.with_reply(|reply| reply.requests.discard_responses());
            }
        }
    }
    Err(failure.unwrap_or_else(|| no_engine_called(shortest_wait)))
}

/// Returns the engines that may reply: where one has begun, with its model, no other. If the operator has exchanged the
/// model since, another one of the same engine goes on.
fn possible<'c>(
    chain: &'c [Candidate],
    request: &ModelRequest,
    begun_by: Option<(String, Option<String>)>,
) -> Vec<&'c Candidate> {
    let Some((name, model)) = begun_by else {
        return chain.iter().collect();
    };
    let mut of_engine = chain.iter().filter(|it| it.name == name);
    let same = of_engine
        .clone()
        .find(|it| asks(it, request, model.as_ref()));
    same.or_else(|| of_engine.next()).into_iter().collect()
}

/// Returns whether a candidate asks this model, where another one asks the same engine.
fn asks(candidate: &Candidate, request: &ModelRequest, model: Option<&String>) -> bool {
    let asked = || {
        candidate
            .engine
            .model(&request_to(candidate, request).agent)
    };
    !candidate.shares_engine || asked().as_ref() == model
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
    withhold_draft(request, sink);
    let replied = match attempt(candidate, permit, request.clone(), sink).await {
        Ok(response) if response.wants_tools() => return Ok(None),
        Ok(response) if request.response_schema.is_none() => Ok(response.finish_reason.into()),
        Ok(response) => finish_reply(candidate, request.clone(), sink, response).await,
        Err(error) => Err(error.into()),
    };
    match replied {
        Ok(end) => Ok(Some(complete(message_id, candidate, end, sink))),
        Err(error) => {
            log_failure(candidate, request, sink.origin(), &error);
            Err(problem_of(candidate, &error))
        }
    }
}

/// Keeps the text from clients until it was checked, if there is a schema.
fn withhold_draft(request: &ModelRequest, sink: &impl ReplySink) {
    if request.response_schema.is_some() {
        sink.with_reply(PartialReply::withhold);
    }
}

/// Returns whether no other engine is asked after this failure: the engine has replied, but not by the schema.
fn is_final(failure: Option<&Problem>) -> bool {
    failure.is_some_and(|failure| failure.code == ProblemCode::InvalidOutput)
}

/// Returns the problem that clients receive for a failure.
fn problem_of(candidate: &Candidate, failure: &ReplyFailure) -> Problem {
    match failure {
        ReplyFailure::Engine(error) => engine_problem(error),
        ReplyFailure::InvalidOutput(faults) => Problem {
            errors: faults.iter().cloned().map(Into::into).collect(),
            // An engine that computes replies from the request alone gives the same one again.
            retryable: !candidate.engine.is_immediate(),
            ..Problem::new(ProblemCode::InvalidOutput)
        },
    }
}

fn complete(
    message_id: MessageId,
    candidate: &Candidate,
    end: LoopEnd,
    sink: &impl ReplySink,
) -> Reply {
    // The text is copied, because a cancellation before the reply is stored still needs it.
    sink.with_reply(|reply| Reply {
        message_id,
        content: reply.text.clone(),
        engine: candidate.name.clone(),
        model: reply.requests.model(),
        degraded: candidate.is_fallback,
        finish_reason: end.finish_reason,
        output: end.output,
        repaired: end.repaired,
        usage: reply.requests.usage(),
        requests: reply.requests.to_models(),
        tool_calls: reply.tool_calls(OpenCallStatus::Cut),
    })
}

fn log_failure(
    candidate: &Candidate,
    request: &ModelRequest,
    origin: TurnOrigin<'_>,
    error: &ReplyFailure,
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
