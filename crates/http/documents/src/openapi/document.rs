//! The document: its title, tags and components, and the paths of all operations.

use domain::Sizes;
use kit::problem::oauth;
use serde_json::Value;
use utoipa::OpenApi;

use super::{common, complete, event_union, operations, shared, variants};
use crate::surfaces;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Agent Service",
        description = "Create AI agents, read them, change their configuration and chat with them.\n\nSend an API key in `X-API-Key`, or in `Authorization: Bearer` either the same key or an access token: one of this service, which OAuth clients request at `/oauth2/token`, or one of an identity provider that the operator trusts. Each operation lists the scopes that it requires.\n\nErrors are `application/problem+json`; `/problems` lists every code. Every response has `X-Request-Id` and `Cache-Control`, in a service with several regions also `X-Served-By` and, after a write, `X-Consistency`: `x-response-headers` of this document describes them. Clients must ignore unknown members in responses; unknown members in requests are rejected. Ids are opaque. Times are RFC 3339 in UTC.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    components(schemas(
        domain::AgentDraft, domain::ConversationDraft, domain::Problem,
        oauth::ErrorBody,
    )),
    tags(
        (name = "Agents", description = "AI agents and their configuration."),
        (name = "Chat", description = "Messages and their turns."),
        (name = "Conversations", description = "Conversations and their messages."),
        (name = "Users", description = "What is stored about users."),
        (name = "Events", description = "The event log: every change, in order."),
        (name = "Access", description = "API keys, OAuth clients and tickets."),
        (name = "OAuth", description = "Access tokens for OAuth clients."),
        (name = "Catalogue", description = "The reply engines, tools and limits of this server."),
        (name = "Operation", description = "Health, metrics and documents."),
    ),
)]
struct Document;

/// Components that are bodies of requests.
pub const BODIES: &[&str] = &[
    "AgentDraft",
    "AgentDraftPatch",
    "ConfigBody",
    "RuleTestRequest",
    "ChatRequest",
    "ActionsRequest",
    "ConversationRequest",
    "ConversationDraftPatch",
    "StaffMessageDraft",
    "StaffMessageDraftPatch",
    "NoteDraft",
    "FeedbackDraft",
    "UserDraft",
    "UserDraftPatch",
    "KeyDraft",
    "KeyDraftPatch",
    "KeyRotation",
    "ClientDraft",
    "ClientDraftPatch",
    "ClientRotation",
    "TicketRequest",
    "UserTokenDraft",
];

/// The document cannot be generated, because its parts contradict each other.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// Serializing failed.
    #[error("the document cannot be written")]
    Json(#[from] serde_json::Error),
    /// A component is missing.
    #[error("the document is not complete")]
    MissingComponent(#[from] kit::body::MissingComponent),
    /// The method or path of an operation differs from its row in the table of operations.
    #[error("the operation '{0}' differs from its row in the table of operations")]
    Mismatch(String),
}

/// The published document of a server with these sizes, whose clients reach it at `url`.
pub fn document(sizes: &Sizes, url: &str) -> Result<Value, DocumentError> {
    let mut document = serde_json::to_value(Document::openapi().merge_from(surfaces::paths()))?;
    document["servers"] = serde_json::json!([{ "url": url }]);
    complete(&mut document, sizes)?;
    variants::name_variants(&mut document, "ChatEvent", "Chat")?;
    event_union::apply(&mut document)?;
    variants::refer_to_items(&mut document);
    operations::complete(&mut document)?;
    variants::remove_unused(&mut document);
    document["x-response-headers"] = common::response_headers();
    shared::share(&mut document);
    common::name_token_url(&mut document, url);
    Ok(document)
}
