//! The agent loop: requests to a model, and the tool calls between them, until it has replied.

mod call;
mod large_integers;

use std::sync::Arc;

use call::{CallResult, CheckedCall};
use domain::{FinishReason, ModelStep, ToolStep, Usage};
use futures::{StreamExt as _, stream};
use ports::{ModelRequest, ReplyError, ToolContext};

use super::{
    Candidate,
    attempt::{Response, attempt, grow, unusable},
    chain::ReplySink,
    engine_breakers::AttemptPermit,
    partial_reply::{CallEnd, PartialReply},
};
use crate::toolbox::ToolMetrics;

/// Asks one engine for a reply, with as many requests as its tool calls need. `permit` is for the
/// first of them. The text and the tool calls go to `sink`.
pub(super) async fn run_agent_loop(
    candidate: &Candidate,
    permit: AttemptPermit,
    request: ModelRequest,
    sink: &impl ReplySink,
) -> Result<(FinishReason, Option<Usage>), ReplyError> {
    let max_rounds = request.agent.config.tool_rounds();
    let mut agent_loop = AgentLoop {
        calls_left: request.agent.config.tool_calls(),
        request,
        sink,
        usage: None,
    };
    let mut permit = Some(permit);
    for round in 0..=max_rounds {
        let may_call = round < max_rounds && agent_loop.calls_left > 0;
        let permit = match permit.take() {
            Some(permit) => permit,
            None => enter(candidate)?,
        };
        agent_loop.request.may_call = may_call;
        let request = agent_loop.request.clone();
        let mut response = attempt(candidate, permit, request, sink).await?;
        agent_loop.add_usage(response.usage.take());
        if !response.wants_tools() {
            return Ok((response.finish_reason, agent_loop.usage));
        }
        if !may_call {
            break;
        }
        agent_loop.call_tools(response).await?;
        sink.with_reply(PartialReply::start_section);
    }
    Err(unusable("the model exceeded the limit of tool calls"))
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
    /// The next request.
    request: ModelRequest,
    sink: &'a S,
    usage: Option<Usage>,
    calls_left: usize,
}

impl<S: ReplySink> AgentLoop<'_, S> {
    /// Adds to the token usage of the turn.
    fn add_usage(&mut self, usage: Option<Usage>) {
        if let Some(more) = usage {
            let before = self.usage.unwrap_or_default();
            self.usage = Some(Usage {
                input_tokens: before.input_tokens.saturating_add(more.input_tokens),
                output_tokens: before.output_tokens.saturating_add(more.output_tokens),
            });
        }
    }

    /// Executes the tool calls of a response concurrently, and reports them and their results in
    /// their order.
    async fn call_tools(&mut self, response: Response) -> Result<(), ReplyError> {
        let mut calls = Vec::new();
        for requested in response.calls {
            let call = CheckedCall::new(requested, &self.request, self.calls_left > 0);
            self.calls_left = self.calls_left.saturating_sub(1);
            let begun = call.begun();
            let turn = self.request.turn_id;
            let index = grow(self.sink, |reply| reply.begin_call(turn, begun))?;
            calls.push((index, call, self.context(index)));
        }
        let metrics = ToolMetrics::of(&self.request);
        let (sink, at_once) = (self.sink, self.request.agent.config.tool_calls());
        let mut results = stream::iter(calls)
            .map(async |(index, call, context)| (index, execute(index, call, &context, sink).await))
            .buffered(at_once);
        let mut steps = Vec::new();
        while let Some((index, result)) = results.next().await {
            metrics.record(&result.name, result.status, result.took);
            steps.push(self.end_call(index, result)?);
        }
        drop(results);
        self.request.steps.push(Arc::new(ModelStep {
            text: self.sink.with_reply(|reply| reply.section().to_owned()),
            state: response.state,
            calls: steps,
        }));
        Ok(())
    }

    /// Returns the context of a call.
    fn context(&self, index: usize) -> ToolContext {
        let (request, origin) = (&self.request, self.sink.origin());
        ToolContext {
            tenant: request.tenant.clone(),
            agent_id: request.agent.id,
            agent_version: request.agent.version,
            user_id: request.user_id.clone(),
            conversation_id: origin.is_stored.then_some(origin.conversation),
            turn_id: request.turn_id,
            call_id: self.sink.with_reply(|reply| reply.call_id(index)),
            attempt: 1,
            started_by: origin.started_by.clone(),
            credential: origin.credential.cloned(),
        }
    }

    /// Reports the end of a call, and returns it as a step.
    fn end_call(&self, index: usize, result: CallResult) -> Result<ToolStep, ReplyError> {
        let call_id = grow(self.sink, |reply| {
            reply.end_call(index).then(|| reply.call_id(index))
        })?;
        Ok(ToolStep {
            call_id,
            name: result.name,
            function: result.function,
            arguments: result.arguments,
            status: result.status.to_owned(),
            result: result.content,
        })
    }
}

/// Executes a call, and stores its outcome at once: if the turn is cancelled while another call still
/// runs, this one has ended.
async fn execute(
    index: usize,
    call: CheckedCall,
    context: &ToolContext,
    sink: &impl ReplySink,
) -> CallResult {
    let mut result = call.execute(context).await;
    let end = CallEnd {
        status: result.status,
        took: result.took,
        result: std::mem::take(&mut result.text),
    };
    sink.with_reply(|reply| reply.settle_call(index, end));
    result
}

#[cfg(test)]
mod tests;
