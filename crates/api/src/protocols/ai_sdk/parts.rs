//! The parts of a UI message stream, from the events of a turn.

use application::chat::{ReplyPiece, TurnEvent};
use domain::{
    ChatReply, FinishReason, ReplyDelta, Timestamp, ToolCalled, ToolReturned, TurnId, TurnStarted,
    Usage,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    error,
    ui_message::{ToolOutcome, after_tool},
};

/// A part of the stream.
#[derive(Debug, Serialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub(super) enum Part {
    /// The turn waits for other turns of the chat.
    #[serde(rename = "data-queued")]
    Queued {
        data: QueuedData,
        transient: bool,
    },
    Start {
        message_id: String,
        message_metadata: StartMetadata,
    },
    StartStep,
    TextStart {
        id: String,
    },
    TextDelta {
        id: String,
        delta: String,
    },
    TextEnd {
        id: String,
    },
    ToolInputAvailable {
        tool_call_id: String,
        tool_name: String,
        input: Map<String, Value>,
        dynamic: bool,
        provider_executed: bool,
    },
    ToolOutputAvailable {
        tool_call_id: String,
        output: Value,
        dynamic: bool,
        provider_executed: bool,
    },
    ToolOutputError {
        tool_call_id: String,
        error_text: String,
        dynamic: bool,
        provider_executed: bool,
    },
    FinishStep,
    Finish {
        finish_reason: &'static str,
        message_metadata: FinishMetadata,
    },
    Abort {
        reason: &'static str,
    },
    Error {
        error_text: String,
    },
}

/// The data of `data-queued`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QueuedData {
    turn_id: TurnId,
}

/// The metadata of a reply at its beginning.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StartMetadata {
    turn_id: TurnId,
    agent_version: i64,
}

/// The metadata that a complete reply has in addition.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FinishMetadata {
    engine: String,
    degraded: bool,
    finish_reason: FinishReason,
    usage: Option<Usage>,
    created_at: Timestamp,
}

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
}

impl PartConverter {
    /// Creates a converter for the response to a request.
    pub(super) fn new(request_id: Option<String>) -> Self {
        Self {
            request_id,
            text: None,
            tool_calls: Vec::new(),
            has_called: false,
        }
    }

    /// Appends the parts of an event, and returns whether it is the last one.
    pub(super) fn convert(&mut self, event: TurnEvent, parts: &mut Vec<Part>) -> bool {
        match event {
            TurnEvent::Queued { turn_id, .. } => parts.push(Part::Queued {
                data: QueuedData { turn_id },
                transient: true,
            }),
            TurnEvent::Started(started) => start(&started, parts),
            TurnEvent::Reply(ReplyPiece::Delta(delta)) => self.delta(delta, parts),
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
                self.end_text(parts);
                let open_calls = self.tool_calls.drain(..);
                parts.extend(open_calls.map(|id| ToolOutcome::cancelled().into_part(id)));
                parts.push(Part::Abort {
                    reason: "The turn was cancelled.",
                });
                return true;
            }
        }
        false
    }

    fn delta(&mut self, delta: ReplyDelta, parts: &mut Vec<Part>) {
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
            FinishReason::Cancelled => "other",
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
