//! AG-UI, the protocol between agents and user interfaces.
//!
//! A thread is a conversation: `threadId` is its key. A run is a turn. The stored conversation is
//! the history, so only the newest user message of a request is read, and answers to tool calls
//! (`answers`). `step` decides what a request wants.

mod answers;
mod attach;
mod cursor;
mod error;
mod event;
mod files;
mod history;
mod input;
mod reply;
mod run;
mod run_events;
mod step;
mod stop;
mod stream;
mod thread;

use actix_web::{HttpRequest, web};
use domain::Scope::{ChatWrite, ConversationsRead};
use kit::{
    operations::{Access, CHAT_COST, Operation, Streams},
    problem::ApiError,
    sse::LAST_EVENT_ID,
};

use self::cursor::EventCursor;
use super::Protocol;

/// The protocol.
pub const PROTOCOL: Protocol = Protocol {
    name: "ag_ui",
    setting: "PROTOCOLS__AG_UI",
    clients: "AG-UI",
    base_path: "/ag-ui/agents/{agentId}",
    prefix: "/ag-ui",
    document: "docs/protocols/ag-ui.md",
    operations: OPERATIONS,
    error_body: error::body,
};

const OPERATIONS: &[Operation] = &[
    Operation {
        cost: CHAT_COST,
        contains_files: true,
        streams: Streams::Always,
        ..Operation::new(
            "ag_ui_run",
            "POST",
            "/ag-ui/agents/{id}/run",
            Access::AnyOf(&[ChatWrite]),
            || web::post().to(run::run),
        )
    },
    Operation {
        streams: Streams::Always,
        ..Operation::new(
            "ag_ui_attach",
            "GET",
            "/ag-ui/agents/{id}/run",
            Access::AnyOf(&[ChatWrite, ConversationsRead]),
            || web::get().to(attach::attach),
        )
    },
    Operation::new(
        "ag_ui_stop",
        "POST",
        "/ag-ui/agents/{id}/stop",
        Access::AnyOf(&[ChatWrite]),
        || web::post().to(stop::stop),
    ),
];

/// The key of a turn's metadata with the id of its run.
const RUN_ID: &str = "ag-ui.runId";

/// Returns the position at which a client has lost its stream.
fn last_event_id(request: &HttpRequest) -> Result<Option<EventCursor>, ApiError> {
    let Some(value) = request.headers().get(LAST_EVENT_ID) else {
        return Ok(None);
    };
    let cursor = value.to_str().ok().and_then(|text| text.parse().ok());
    let malformed = || ApiError::header("Last-Event-ID", "must be the id of a received event");
    cursor.map(Some).ok_or_else(malformed)
}
