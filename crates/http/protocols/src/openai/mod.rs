//! Chat completions and models, as OpenAI clients request them. Agents are the models.
//!
//! A request is translated (`request`, `messages`), sent as a stored or an ephemeral chat
//! (`completions`, `resend`), and answered as a whole or as a stream of chunks (`response`,
//! `stream`). Calls that need approval are denied (`approvals`).

mod approvals;
mod completions;
mod error;
mod files;
mod messages;
mod models;
mod request;
mod resend;
mod response;
mod stream;

use actix_web::web;
use domain::Scope;
use kit::operations::{Access, CHAT_COST, Operation, Streams};

use super::Protocol;

/// The protocol.
pub const PROTOCOL: Protocol = Protocol {
    name: "openai",
    setting: "PROTOCOLS__OPENAI",
    clients: "OpenAI",
    base_path: "/v1",
    prefix: "/v1",
    document: "docs/protocols/openai.md",
    operations: OPERATIONS,
    error_body: error::body,
};

const OPERATIONS: &[Operation] = &[
    Operation {
        cost: CHAT_COST,
        contains_files: true,
        streams: Streams::IfRequested,
        ..Operation::new(
            "openai_create_chat_completion",
            "POST",
            "/v1/chat/completions",
            Access::AnyOf(&[Scope::ChatWrite]),
            || web::post().to(completions::create),
        )
    },
    Operation::new(
        "openai_list_models",
        "GET",
        "/v1/models",
        Access::AnyOf(&[Scope::AgentsRead]),
        || web::get().to(models::list),
    ),
    Operation::new(
        "openai_get_model",
        "GET",
        "/v1/models/{id}",
        Access::AnyOf(&[Scope::AgentsRead]),
        || web::get().to(models::get),
    ),
];
