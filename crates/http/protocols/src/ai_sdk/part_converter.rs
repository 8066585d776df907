//! The conversion of the events of a turn into the parts of a stream.

use application::live_turns::{ReplyPiece, TurnEvent};
use domain::{ChatReply, FinishReason, ReplyDelta, ToolCalled, ToolReturned, TurnStarted};

use super::{
    error,
    part::{CancelledMetadata, FinishMetadata, Part, QueuedData, StartMetadata},
    ui_message::{ToolOutcome, after_tool},
};

/// The converter of the events of one turn. The ids of text parts are their positions in the reply,
/// so that they are the same in every replay.
#[derive(Debug)]
pub(super) struct PartConverter {
    /// The id of the request, for the text of an error.
    request_id: Option<String>,
    /// The id of the text part that is open.
    text: Option<String>,
    /// The ids of the tool calls that have not ended.
    tool_calls: Vec<String>,
    has_called: bool,
    has_started: bool,
}

impl PartConverter {
    /// Creates a converter for the response to a request.
    pub(super) fn new(request_id: Option<String>) -> Self {
        Self {
            request_id,
            text: None,
            tool_calls: Vec::new(),
            has_called: false,
            has_started: false,
        }
    }

    /// Appends the parts of an event, and returns whether it is the last one.
    pub(super) fn convert(&mut self, event: TurnEvent, parts: &mut Vec<Part>) -> bool {
        match event {
            TurnEvent::Queued { turn_id, .. } => parts.push(Part::Queued {
                data: QueuedData { turn_id },
                transient: true,
            }),
            TurnEvent::Started(started) => {
                self.has_started = true;
                start(&started, parts);
            }
            TurnEvent::Reply(ReplyPiece::Delta(delta)) => self.delta(&delta, parts),
            TurnEvent::Reply(ReplyPiece::ToolCalled(call)) => self.tool_called(call, parts),
            TurnEvent::Reply(ReplyPiece::ToolReturned(call)) => self.tool_returned(call, parts),
            TurnEvent::Completed(reply) => {
                self.end_text(parts);
                finish(reply, parts);
                return true;
            }
            TurnEvent::Failed { mut error, .. } => {
                error.request_id = error.request_id.or_else(|| self.request_id.take());
                let error_text = error::text(&error);
                parts.push(Part::Error { error_text });
                return true;
            }
            TurnEvent::Cancelled { .. } => {
                self.cancel(parts);
                return true;
            }
        }
        false
    }

    fn cancel(&mut self, parts: &mut Vec<Part>) {
        self.end_text(parts);
        let open_calls = self.tool_calls.drain(..);
        parts.extend(open_calls.map(|id| ToolOutcome::cancelled().into_part(id)));
        // A client that receives metadata without a reply would show an empty one.
        if self.has_started {
            parts.push(Part::MessageMetadata {
                message_metadata: CancelledMetadata {
                    finish_reason: FinishReason::Cancelled,
                },
            });
        }
        parts.push(Part::Abort {
            reason: "The turn was cancelled.",
        });
    }

    fn delta(&mut self, delta: &ReplyDelta, parts: &mut Vec<Part>) {
        let (mut from, mut text) = (delta.from, &*delta.text);
        if self.text.is_none() && self.has_called {
            text = after_tool(text);
            from = delta.to - text.len();
        }
        if text.is_empty() {
            return;
        }
        let id = self.text.get_or_insert_with(|| {
            let id = from.to_string();
            parts.push(Part::TextStart { id: id.clone() });
            id
        });
        parts.push(Part::TextDelta {
            id: id.clone(),
            delta: text.to_owned(),
        });
    }

    fn end_text(&mut self, parts: &mut Vec<Part>) {
        parts.extend(self.text.take().map(|id| Part::TextEnd { id }));
    }

    fn tool_called(&mut self, call: ToolCalled, parts: &mut Vec<Part>) {
        self.end_text(parts);
        self.has_called = true;
        self.tool_calls.push(call.id.clone());
        parts.push(Part::ToolInputAvailable {
            tool_call_id: call.id,
            tool_name: call.name,
            input: call.arguments,
            dynamic: true,
            provider_executed: true,
        });
    }

    fn tool_returned(&mut self, call: ToolReturned, parts: &mut Vec<Part>) {
        self.tool_calls.retain(|open| *open != call.id);
        let outcome = ToolOutcome::new(&call.status, call.result);
        parts.push(outcome.into_part(call.id));
    }
}

impl ToolOutcome {
    fn into_part(self, tool_call_id: String) -> Part {
        let (dynamic, provider_executed) = (true, true);
        match self {
            Self::OutputAvailable { output } => Part::ToolOutputAvailable {
                tool_call_id,
                output,
                dynamic,
                provider_executed,
            },
            Self::OutputError { error_text } => Part::ToolOutputError {
                tool_call_id,
                error_text,
                dynamic,
                provider_executed,
            },
        }
    }
}

fn start(started: &TurnStarted, parts: &mut Vec<Part>) {
    parts.push(Part::Start {
        message_id: started.reply_id.to_string(),
        message_metadata: StartMetadata {
            turn_id: started.turn_id,
            agent_version: started.agent_version,
        },
    });
    parts.push(Part::StartStep);
}

fn finish(reply: ChatReply, parts: &mut Vec<Part>) {
    parts.push(Part::FinishStep);
    parts.push(Part::Finish {
        finish_reason: match reply.finish_reason {
            FinishReason::Stop => "stop",
            FinishReason::Length => "length",
            FinishReason::ContentFilter => "content-filter",
            FinishReason::Cancelled | FinishReason::Other(_) => "other",
        },
        message_metadata: FinishMetadata {
            engine: reply.engine,
            degraded: reply.degraded,
            finish_reason: reply.finish_reason,
            usage: reply.usage,
            created_at: reply.created_at,
        },
    });
}
