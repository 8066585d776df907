//! The calls of one response: made concurrently, and reported in their order.

use std::{mem, pin::pin, sync::Arc, time::Duration};

use domain::{ModelResponse, ModelStep, ToolEnd, ToolStep, TurnStep};
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use ports::{ReplyError, ToolContext};
use tokio::time::{Instant, timeout_at};

use super::{
    AgentLoop,
    call::{CheckedCall, make_call},
};
use crate::{
    engines::{attempt::grow, chain::ReplySink, journal::Journal, partial_reply::PartialReply},
    toolbox::ToolMetrics,
};

/// The time for which the end of a call waits for the ends of others, to be recorded with them.
const GROUPING_TIME: Duration = Duration::from_millis(10);

/// A call, and what was done with its end.
pub(super) struct ReportedCall {
    pub(super) call: CheckedCall,
    /// Its index in the reply.
    pub(super) index: usize,
    /// True if the journal has its end.
    pub(super) is_recorded: bool,
    /// True if the reply has its end.
    pub(super) is_reported: bool,
}

/// Returns the ends that the journal lacks.
fn take_unrecorded(calls: &mut [ReportedCall]) -> Vec<TurnStep> {
    let unrecorded = calls
        .iter_mut()
        .filter(|it| !it.is_recorded && it.call.step.end.is_some());
    let ended = unrecorded.map(|reported| {
        reported.is_recorded = true;
        TurnStep::Tool(reported.call.step.clone())
    });
    ended.collect()
}

/// The ends of running calls, with their places among the calls.
type Ends<'a> = FuturesUnordered<BoxFuture<'a, (usize, ToolEnd)>>;

impl<S: ReplySink> AgentLoop<'_, S> {
    /// Makes the calls concurrently, records their ends, and reports them in the order of the calls.
    /// Returns whether one waits for an answer.
    pub(super) async fn finish_calls(
        &mut self,
        mut calls: Vec<ReportedCall>,
        response: ModelResponse,
    ) -> Result<bool, ReplyError> {
        let metrics = ToolMetrics::of(&self.request);
        let mut running = self.start(&calls, &metrics);
        let mut ended = Vec::new();
        loop {
            let unrecorded = take_unrecorded(&mut calls);
            if let Some(journal) = self.journal.filter(|_| !unrecorded.is_empty()) {
                let mut recording = pin!(journal.change(unrecorded));
                // Other calls go on meanwhile.
                loop {
                    tokio::select! {
                        () = &mut recording => break,
                        Some(end) = running.next() => ended.push(end),
                    }
                }
            }
            self.report_ends(&mut calls)?;
            if ended.is_empty() {
                match running.next().await {
                    Some(end) => ended.push(end),
                    None => break,
                }
            }
            let deadline = Instant::now() + GROUPING_TIME;
            while let Ok(Some(end)) = timeout_at(deadline, running.next()).await {
                ended.push(end);
            }
            for (place, end) in ended.drain(..) {
                calls[place].call.step.end = Some(end);
            }
        }
        drop(running);
        if calls.iter().any(|reported| reported.call.step.holds_turn()) {
            return Ok(true);
        }
        let calls = calls.into_iter().map(|reported| reported.call.step);
        self.request.steps.push(Arc::new(ModelStep {
            response,
            calls: calls.collect(),
        }));
        self.sink.with_reply(PartialReply::start_section);
        Ok(false)
    }

    /// Starts the calls that have not ended. The reply gets each end at once: if the turn is cancelled
    /// while another call still runs, this one has ended.
    fn start<'s>(&'s self, calls: &[ReportedCall], metrics: &'s ToolMetrics) -> Ends<'s> {
        let to_make = calls.iter().zip(0..).filter_map(|(reported, place)| {
            let (step, tool) = reported.call.to_make()?;
            let index = reported.index;
            let made = async move {
                let end = make_call(&step, &tool, &self.context(&step)).await;
                metrics.record(&step.name, &end);
                self.sink.with_reply(|reply| reply.settle_call(index, &end));
                (place, end)
            };
            Some(made.boxed())
        });
        to_make.collect()
    }

    /// Reports the ends that the reply lacks, up to the first call that runs.
    fn report_ends(&self, calls: &mut [ReportedCall]) -> Result<(), ReplyError> {
        for reported in calls.iter_mut() {
            if reported.call.step.is_waiting() {
                continue;
            }
            if reported.call.step.end.is_none() {
                break;
            }
            if !mem::replace(&mut reported.is_reported, true) {
                let index = reported.index;
                grow(self.sink, |reply| reply.end_call(index).then_some(()))?;
            }
        }
        Ok(())
    }

    /// Returns the context of a call.
    fn context(&self, call: &ToolStep) -> ToolContext {
        let (request, origin) = (&self.request, self.sink.origin());
        let resumptions = |journal: &Journal<'_>| journal.resumptions_since(&call.call_id);
        ToolContext {
            tenant: request.tenant.clone(),
            agent_id: request.agent.id,
            agent_version: request.agent.version,
            user_id: request.user_id.clone(),
            conversation_id: origin.is_stored.then_some(origin.conversation),
            turn_id: request.turn_id,
            call_id: call.call_id.clone(),
            attempt: call.attempt(self.journal.map_or(0, resumptions)),
            started_by: origin.started_by.clone(),
            credential: origin.credential.cloned(),
        }
    }
}
