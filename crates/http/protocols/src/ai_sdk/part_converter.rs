//! The conversion of the events of a turn into the parts of a stream.

use domain::{
    ActionNeeded, ChatReply, FinishReason, ReasoningDelta, ReplyDelta, ToolCalled, ToolReturned,
    TurnEvent, TurnStarted, tool_call::function_name,
};

use super::{
    error,
    part::{CancelledMetadata, FinishMetadata, Part, QueuedData, StartMetadata},
    ui_message::{ToolOutcome, after_tool},
};
use crate::answers::Seen;

/// The converter of the events of one turn. The ids of text parts are their positions in the reply,
/// so that they are the same in every replay; those of reasoning parts contain their positions in the reasoning.
#[derive(Debug)]
pub(super) struct PartConverter {
    /// The id of the request, for the text of an error.
    request_id: Option<String>,
    /// What the client has of the reply, and is not sent again.
    seen: Seen,
    /// The id of the text part that is open.
    text: Option<String>,
    /// The id of the reasoning part that is open; no text part is open then.
    reasoning: Option<String>,
    /// The ids of the tool calls that have not ended.
    tool_calls: Vec<String>,
    /// The ids of the calls whose approval was requested.
    asked: Vec<String>,
    has_called: bool,
    has_started: bool,
    is_step_open: bool,
}

impl PartConverter {
    /// Creates a converter for the response to a request.
    pub(super) fn new(request_id: Option<String>, seen: Seen) -> Self {
        Self {
            request_id,
            has_called: seen.has_calls(),
            seen,
            text: None,
            reasoning: None,
            tool_calls: Vec::new(),
            asked: Vec::new(),
            has_started: false,
            is_step_open: false,
        }
    }

    /// Sends the parts of an event, unless the client has them.
    pub(super) fn convert(&mut self, event: TurnEvent, send: &mut dyn FnMut(Part)) {
        if self.seen.has(&event) {
            return;
        }
        match event {
            TurnEvent::Queued(place) => send(Part::Queued {
                data: QueuedData {
                    turn_id: place.turn_id,
                },
                transient: true,
            }),
            TurnEvent::Started(started) => {
                self.has_started = true;
                start(&started, send);
                // The results of earlier calls belong to the step that the client has.
                if !self.seen.has_calls() {
                    self.begin_step(send);
                }
            }
            TurnEvent::Reasoning(delta) => self.reasoning(&delta, send),
            TurnEvent::Delta(delta) => self.delta(&delta, send),
            TurnEvent::ToolCalled(call) => self.tool_called(call, send),
            TurnEvent::ToolReturned(call) => self.tool_returned(call, send),
            TurnEvent::Completed(reply) => {
                // Clients take the last step for the open one.
                self.begin_step(send);
                self.end_step(send);
                finish(reply, send);
            }
            TurnEvent::Failed(failed) => {
                let mut error = failed.error;
                error.request_id = error.request_id.or_else(|| self.request_id.take());
                let error_text = error::text(&error);
                send(Part::Error { error_text });
            }
            TurnEvent::Cancelled(_) => self.cancel(send),
            TurnEvent::Resumed(_) => {}
            TurnEvent::RequiresAction(_) => {
                self.end_step(send);
                send(Part::Finish {
                    finish_reason: "tool-calls",
                    message_metadata: None,
                });
            }
        }
    }

    fn begin_step(&mut self, send: &mut dyn FnMut(Part)) {
        if !std::mem::replace(&mut self.is_step_open, true) {
            send(Part::StartStep);
        }
    }

    fn end_step(&mut self, send: &mut dyn FnMut(Part)) {
        self.end_text(send);
        if std::mem::take(&mut self.is_step_open) {
            send(Part::FinishStep);
        }
    }

    fn cancel(&mut self, send: &mut dyn FnMut(Part)) {
        self.end_text(send);
        let open_calls = self.tool_calls.drain(..);
        open_calls.for_each(|id| send(ToolOutcome::cancelled().into_part(id)));
        // A client that receives metadata without a reply would show an empty one.
        if self.has_started {
            send(Part::MessageMetadata {
                message_metadata: CancelledMetadata {
                    finish_reason: FinishReason::Cancelled,
                },
            });
        }
        send(Part::Abort {
            reason: "The turn was cancelled.",
        });
    }

    fn delta(&mut self, delta: &ReplyDelta, send: &mut dyn FnMut(Part)) {
        let (mut from, mut text) = (delta.from, &*delta.text);
        if self.text.is_none() && self.has_called {
            text = after_tool(text);
            from = delta.to - text.len();
        }
        if text.is_empty() {
            return;
        }
        self.begin_step(send);
        self.end_reasoning(send);
        let id = self.text.get_or_insert_with(|| {
            let id = from.to_string();
            send(Part::TextStart { id: id.clone() });
            id
        });
        send(Part::TextDelta {
            id: id.clone(),
            delta: text.to_owned(),
        });
    }

    fn reasoning(&mut self, delta: &ReasoningDelta, send: &mut dyn FnMut(Part)) {
        let mut text = delta.after(self.seen.reasoning());
        // It begins anew if the turn was resumed.
        if delta.from == 0 || self.text.is_some() {
            self.end_text(send);
        }
        if self.reasoning.is_none() {
            text = text.trim_start_matches('\n');
        }
        if text.is_empty() {
            return;
        }
        self.begin_step(send);
        let id = self.reasoning.get_or_insert_with(|| {
            let id = format!("reasoning-{}", delta.to - text.len());
            send(Part::ReasoningStart { id: id.clone() });
            id
        });
        send(Part::ReasoningDelta {
            id: id.clone(),
            delta: text.to_owned(),
        });
    }

    fn end_reasoning(&mut self, send: &mut dyn FnMut(Part)) {
        if let Some(id) = self.reasoning.take() {
            send(Part::ReasoningEnd { id });
        }
    }

    /// Ends the part of text or reasoning that is open.
    fn end_text(&mut self, send: &mut dyn FnMut(Part)) {
        self.end_reasoning(send);
        if let Some(id) = self.text.take() {
            send(Part::TextEnd { id });
        }
    }

    fn tool_called(&mut self, call: ToolCalled, send: &mut dyn FnMut(Part)) {
        self.end_text(send);
        self.begin_step(send);
        self.has_called = true;
        self.tool_calls.push(call.id.clone());
        send(Part::ToolInputAvailable {
            tool_call_id: call.id.clone(),
            tool_name: function_name(&call.name),
            input: call.arguments.unwrap_or_default(),
            provider_executed: call.needs.is_none(),
        });
        if call.needs == Some(ActionNeeded::Approval) {
            self.ask(call.id, send);
        }
    }

    /// Requests the approval of a call.
    fn ask(&mut self, call: String, send: &mut dyn FnMut(Part)) {
        self.asked.push(call.clone());
        send(Part::ToolApprovalRequest {
            approval_id: call.clone(),
            tool_call_id: call,
        });
    }

    fn tool_returned(&mut self, call: ToolReturned, send: &mut dyn FnMut(Part)) {
        self.tool_calls.retain(|open| *open != call.id);
        let outcome = ToolOutcome::new(&call.id, &call.status, call.result);
        let is_denied = matches!(outcome, ToolOutcome::Denied { .. });
        // In a replay, clients expect an approval with the denial.
        if is_denied && !self.seen.has_call(&call.id) && !self.asked.contains(&call.id) {
            self.ask(call.id.clone(), send);
        }
        send(outcome.into_part(call.id));
    }
}

impl ToolOutcome {
    fn into_part(self, tool_call_id: String) -> Part {
        let provider_executed = true;
        match self {
            Self::Output { output } => Part::ToolOutputAvailable {
                tool_call_id,
                output,
                provider_executed,
            },
            Self::Error { error_text } => Part::ToolOutputError {
                tool_call_id,
                error_text,
                provider_executed,
            },
            Self::Denied { .. } => Part::ToolOutputDenied { tool_call_id },
        }
    }
}

fn start(started: &TurnStarted, send: &mut dyn FnMut(Part)) {
    send(Part::Start {
        message_id: started.reply_id.map(|id| id.to_string()),
        message_metadata: started.reply_id.map(|_| StartMetadata {
            turn_id: started.turn_id,
            agent_version: started.agent_version,
        }),
    });
}

fn finish(reply: ChatReply, send: &mut dyn FnMut(Part)) {
    send(Part::Finish {
        finish_reason: match reply.finish_reason {
            FinishReason::Stop | FinishReason::HandedOver => "stop",
            FinishReason::Length => "length",
            FinishReason::ContentFilter => "content-filter",
            FinishReason::RequiresAction => "tool-calls",
            FinishReason::Cancelled | FinishReason::Dismissed | FinishReason::Other(_) => "other",
        },
        message_metadata: reply.engine.map(|engine| FinishMetadata {
            engine,
            model: reply.model,
            degraded: reply.degraded,
            finish_reason: reply.finish_reason,
            usage: reply.usage,
            created_at: reply.created_at,
        }),
    });
}
