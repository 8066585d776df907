//! The agent loop: requests to a model, and the tool calls between them, until it has replied.

mod call;
mod output;
mod permission;
mod round;
mod verdict;

use std::sync::Arc;

use call::CheckedCall;
pub(crate) use call::object_text;
use domain::{
    FinishReason, ModelResponse, ModelStep, RequestUsage, ResponseSchema, TurnStep,
    tool_call::{call_id, turn_of_call},
};
pub(super) use output::{LoopEnd, ReplyFailure};
use ports::{ModelRequest, ReplyError, ToolChoice};
use round::ReportedCall;
use serde_json::Value;

use super::{
    Candidate,
    attempt::{Response, grow, unusable},
    chain::ReplySink,
    engine_breakers::AttemptPermit,
    journal::Journal,
};
use crate::toolbox::ToolMetrics;

/// Asks one engine for a reply, with as many requests as its tool calls need. `permit` is for the
/// first of them. The text and the tool calls go to `sink`. A turn with a journal goes on after its last
/// entry. It ends with `RequiresAction` if a call waits for an answer, also without a journal: the client then
/// sends the answer with its next message. Where staff handles the conversation, it ends with `HandedOver`
/// once open calls are finished.
pub(super) async fn run_agent_loop(
    candidate: &Candidate,
    permit: AttemptPermit,
    request: ModelRequest,
    sink: &impl ReplySink,
    journal: Option<&Journal<'_>>,
) -> Result<LoopEnd, ReplyFailure> {
    let max_rounds = request.agent.config.tool_rounds();
    let mut agent_loop = AgentLoop::new(candidate, request, sink, journal);
    let mut permit = Some(permit);
    if agent_loop.finish_open_calls().await? {
        return Ok(FinishReason::RequiresAction.into());
    }
    if agent_loop.request.is_for_staff {
        return Ok(FinishReason::HandedOver.into());
    }
    agent_loop.choose_schema_support();
    for round in agent_loop.request.steps.len()..=max_rounds {
        if let Some(journal) = journal.filter(|_| round > 0) {
            journal.release_if_draining().await;
        }
        let may_call = round < max_rounds && agent_loop.calls_left > 0;
        let permit = match permit.take() {
            Some(permit) => permit,
            None => enter(candidate)?,
        };
        agent_loop.request.may_call = may_call;
        let request = agent_loop.request.clone();
        // A choice that holds for every request would keep the model from ever replying.
        agent_loop.request.tool_use.choice = ToolChoice::Auto;
        let response = agent_loop.ask(permit, request).await?;
        if !response.wants_tools() {
            if agent_loop.schema.is_none() {
                return Ok(response.finish_reason.into());
            }
            return Box::pin(agent_loop.finish(response)).await;
        }
        if !may_call {
            break;
        }
        if agent_loop.call_tools(response).await? {
            return Ok(FinishReason::RequiresAction.into());
        }
    }
    Err(unusable("the model exceeded the limit of tool calls").into())
}

/// Ends a reply to one request that calls no tools.
pub(super) async fn finish_reply(
    candidate: &Candidate,
    request: ModelRequest,
    sink: &impl ReplySink,
    response: Response,
) -> Result<LoopEnd, ReplyFailure> {
    let mut agent_loop = AgentLoop::new(candidate, request, sink, None);
    Box::pin(agent_loop.finish(response)).await
}

/// Returns the permit for another request of a reply that has begun.
fn enter(candidate: &Candidate) -> Result<AttemptPermit, ReplyError> {
    let unavailable = |wait| ReplyError::RateLimited {
        retry_after: Some(wait),
    };
    candidate.breakers.enter().map_err(unavailable)
}

/// The state of one reply.
struct AgentLoop<'a, S> {
    candidate: &'a Candidate,
    /// The next request.
    request: ModelRequest,
    sink: &'a S,
    /// `None` if nothing of the turn is stored.
    journal: Option<&'a Journal<'a>>,
    calls_left: usize,
    /// The schema of the reply. The request has it if the model learns it by a parameter.
    schema: Option<ResponseSchema>,
}

impl<'a, S: ReplySink> AgentLoop<'a, S> {
    fn new(
        candidate: &'a Candidate,
        request: ModelRequest,
        sink: &'a S,
        journal: Option<&'a Journal<'a>>,
    ) -> Self {
        let calls_before = sink.with_reply(|reply| reply.call_count());
        let max_calls = request.agent.config.tool_calls();
        Self {
            calls_left: max_calls.saturating_sub(calls_before),
            candidate,
            schema: request.response_schema.clone(),
            request,
            sink,
            journal,
        }
    }
}

impl<S: ReplySink> AgentLoop<'_, S> {
    /// Makes the tool calls of a response, after they are recorded. Returns whether one waits for an
    /// answer.
    async fn call_tools(&mut self, response: Response) -> Result<bool, ReplyError> {
        let at = self.sink.with_reply(|reply| reply.text.len());
        let first = self.sink.with_reply(|reply| reply.call_count()) - self.carried_calls() + 1;
        let time = self.request.agent.config.action_timeout();
        let expires_at = self.journal.map(|journal| journal.now() + time);
        let mut calls = Vec::new();
        for (number, requested) in (first..).zip(response.calls) {
            let id = call_id(self.request.turn_id, number);
            let may_run = self.calls_left > 0;
            calls.push(CheckedCall::new(
                requested,
                &self.request,
                (id, at),
                may_run,
                expires_at,
            ));
            self.calls_left = self.calls_left.saturating_sub(1);
        }
        self.dismiss_repeated(&mut calls).await;
        let response = ModelResponse {
            engine: self.candidate.name.clone(),
            model: response.model,
            text: self.sink.with_reply(|reply| reply.section().to_owned()),
            is_draft: self.schema.is_some(),
            reasoning: self
                .sink
                .with_reply(|reply| reply.reasoning.take_unrecorded()),
            state: response.state,
            requests: self.unrecorded_requests(),
        };
        if let Some(journal) = self.journal {
            let model = TurnStep::Model(response.clone());
            let tools = calls.iter().map(|call| TurnStep::Tool(call.step.clone()));
            let steps = [model].into_iter().chain(tools).collect();
            journal.begin(steps).await;
        }
        let metrics = ToolMetrics::of(&self.request);
        let mut reported = Vec::new();
        for call in calls {
            let is_left = call.step.waits_for_staff();
            let index = grow(self.sink, |reply| {
                if is_left {
                    reply.leave_to_staff(&call.step)
                } else {
                    reply.begin_call(&call.step)
                }
            })?;
            if let Some(end) = &call.step.end {
                metrics.record(&call.step.name, end);
                self.sink.with_reply(|reply| reply.settle_call(index, end));
            }
            reported.push(ReportedCall {
                is_recorded: call.step.end.is_some(),
                is_reported: false,
                index,
                call,
            });
        }
        self.finish_calls(reported, response).await
    }

    /// Ends the calls of which an equal one waits for staff already.
    async fn dismiss_repeated(&self, calls: &mut [CheckedCall]) {
        let Some(journal) = self.journal else {
            return;
        };
        let mut asked = Vec::new();
        for call in calls.iter_mut().filter(|call| call.step.waits_for_staff()) {
            let arguments = Value::Object(call.step.read_arguments());
            let name = call.step.name.clone();
            let key = (name, arguments);
            if asked.contains(&key) || journal.waits_for_staff(&key.0, &key.1).await {
                call.dismiss();
            } else {
                asked.push(key);
            }
        }
    }

    /// Returns the number of calls of the earlier turn that this one continues. They keep their ids.
    fn carried_calls(&self) -> usize {
        let steps = self.request.steps.iter();
        let calls = steps.flat_map(|step| &step.calls);
        let is_own = |id: &str| turn_of_call(id) == Some(self.request.turn_id);
        calls.filter(|call| !is_own(&call.call_id)).count()
    }

    /// Returns the requests to models that no step contains.
    fn unrecorded_requests(&self) -> Vec<RequestUsage> {
        let steps = self.request.steps.iter();
        let recorded: usize = steps.map(|step| step.response.requests.len()).sum();
        let mut requests = self.sink.with_reply(|reply| reply.requests.to_models());
        requests.drain(..recorded.min(requests.len()));
        requests
    }

    /// Makes the calls that were approved, and ends those that ran when another process died: it makes
    /// those again for which that is harmless. Returns whether one waits for an answer.
    async fn finish_open_calls(&mut self) -> Result<bool, ReplyError> {
        let Some(journal) = self.journal else {
            return Ok(false);
        };
        self.request.steps = journal.model_steps();
        // The step that a decision of staff carries over may be that of another engine or model.
        let model = self.candidate.engine.model(&self.request.agent);
        for step in &mut self.request.steps {
            let asked = step.response.requests.last();
            let is_of_model = asked.is_none_or(|asked| asked.model == model);
            if step.response.engine != self.candidate.name || !is_of_model {
                Arc::make_mut(step).response.state = None;
            }
        }
        let is_open = |step: &mut Arc<ModelStep>| step.calls.iter().any(|it| it.end.is_none());
        let Some(last) = self.request.steps.pop_if(is_open) else {
            return Ok(false);
        };
        let ModelStep { response, calls } = Arc::unwrap_or_clone(last);
        let first = self.sink.with_reply(|reply| reply.call_count()) - calls.len();
        let (mut reported, mut begun) = (Vec::new(), Vec::new());
        for (index, step) in (first..).zip(calls) {
            let has_ended = step.end.is_some();
            let waits = step.wait.is_some();
            let call = if step.is_waiting() {
                CheckedCall { step, tool: None }
            } else {
                let resumptions = journal.resumptions_since(&step.call_id);
                CheckedCall::again(step, &self.request, resumptions)
            };
            if waits && call.to_make().is_some() {
                self.sink
                    .with_reply(|reply| reply.start_call(index, &call.step));
                begun.push(TurnStep::Tool(call.step.clone()));
            }
            if let Some(end) = call.step.end.as_ref().filter(|_| !has_ended) {
                self.sink.with_reply(|reply| reply.settle_call(index, end));
            }
            reported.push(ReportedCall {
                call,
                index,
                is_recorded: has_ended,
                is_reported: has_ended,
            });
        }
        if !begun.is_empty() {
            journal.change(begun).await;
        }
        self.finish_calls(reported, response).await
    }
}

#[cfg(test)]
mod tests;
