//! A reply as a stream of chunks.
//!
//! These clients take every stream that ends cleanly for a whole reply, with or without `[DONE]`.
//! So a stream ends with the chunks of the end of a reply or with the data of an error.

use std::time::Duration;

use application::{ChatError, chat::AcceptedTurn};
use domain::{FinishReason, Problem, ProblemCode, TurnEvent};
use kit::{
    auth::{Authorized, ChatWrite},
    problem::ApiError,
    sse::Events,
    turn_stream::{EncodedTurn, Interruption, StreamEncoder, TurnEncoder},
};
use tokio::time::{Instant, timeout_at};

use super::{
    approvals::deny_approvals,
    error::ErrorData,
    response::{Chunks, calls_for_client},
};
use crate::answers::Seen;

/// The time for which the response is delayed until there is text, so that a failure before is
/// reported by its status: then clients can repeat the request.
const MAX_STATUS_DELAY: Duration = Duration::from_millis(500);

/// Sends a reply as chunks.
pub(super) struct ReplyChunks {
    chunks: Chunks,
    request_id: Option<String>,
    /// The part of the reply that the client has.
    seen: Seen,
    /// True if there is a chunk after the first one.
    has_text: bool,
    /// The caller, whose calls are denied if they need approval.
    authorized: Authorized<ChatWrite>,
}

/// Waits a short time for the first text, and returns the error of a turn that fails before.
pub(super) async fn begin(
    (accepted, seen): (AcceptedTurn, Seen),
    chunks: Chunks,
    request_id: Option<String>,
    authorized: Authorized<ChatWrite>,
) -> Result<EncodedTurn<ReplyChunks>, ApiError> {
    let encoder = ReplyChunks {
        chunks,
        request_id,
        seen,
        has_text: false,
        authorized,
    };
    let mut begun = EncodedTurn::new(accepted, encoder, Events::default());
    let until = Instant::now() + MAX_STATUS_DELAY;
    while !begun.encoder.has_text
        && let Ok(Some(event)) = timeout_at(until, begun.events.next()).await
    {
        match event? {
            TurnEvent::Failed(failed) => return Err(ChatError::Failed(failed.error).into()),
            TurnEvent::Cancelled(_) => return Err(ChatError::Cancelled.into()),
            event => begun.add(event).await,
        }
    }
    Ok(begun)
}

impl TurnEncoder for ReplyChunks {
    type Output = Events;

    async fn add(&mut self, event: TurnEvent, events: &mut Events) {
        if self.seen.has(&event) {
            return;
        }
        match event {
            TurnEvent::Started(_) => events.push_data(&self.chunks.first()),
            TurnEvent::Delta(delta) => {
                let mut text = &*delta.text;
                if self.seen.has_calls() && !self.has_text {
                    text = text.trim_start_matches('\n');
                }
                self.has_text = true;
                events.push_data(&self.chunks.text(text));
            }
            // Agents call their tools themselves.
            TurnEvent::Queued(_)
            | TurnEvent::Resumed(_)
            | TurnEvent::Reasoning(_)
            | TurnEvent::ToolCalled(_)
            | TurnEvent::ToolReturned(_) => {}
            TurnEvent::Completed(reply) => {
                self.has_text = true;
                events.push_data(&self.chunks.last(reply.finish_reason));
                if let Some(usage) = self.chunks.usage(reply.usage) {
                    events.push_data(&usage);
                }
                events.push_done();
            }
            TurnEvent::RequiresAction(waiting) => {
                self.has_text = true;
                let calls = calls_for_client(&waiting.tool_calls);
                if calls.is_empty() {
                    return self.fail(Problem::new(ProblemCode::ActionRequired), events);
                }
                events.push_data(&self.chunks.calls(calls));
                events.push_data(&self.chunks.last(FinishReason::RequiresAction));
                events.push_done();
            }
            TurnEvent::Failed(failed) => self.fail(failed.error, events),
            TurnEvent::Cancelled(_) => {
                self.fail(Problem::new(ProblemCode::TurnCancelled), events);
            }
        }
    }

    async fn next_turn(&mut self, last: &TurnEvent) -> Option<AcceptedTurn> {
        let TurnEvent::RequiresAction(waiting) = last else {
            return None;
        };
        let denying = deny_approvals(&self.authorized, waiting.turn_id, &waiting.tool_calls);
        match denying.await {
            Ok(turn) => turn,
            Err(error) => {
                tracing::warn!(code = error.code.as_str(), "cannot deny a tool call");
                None
            }
        }
    }
}

impl StreamEncoder for ReplyChunks {
    async fn interrupt(&mut self, reason: Interruption, events: &mut Events) {
        if let Some(problem) = reason.problem() {
            self.fail(Problem::new(problem), events);
        }
    }
}

impl ReplyChunks {
    fn fail(&self, mut problem: Problem, events: &mut Events) {
        problem.request_id.clone_from(&self.request_id);
        events.push_data(&ErrorData::of(&problem));
    }
}
