//! A small document over the domain's types, completed like the real one.

use domain::{
    AgentDraft, ConversationDraft, FeedbackDraft, ImportedMessage, NoteDraft, Scope, Sizes,
    Timestamp, UserDraft, config::MetadataSchema, staff_message::StaffMessageDraft,
};
use rest::{
    agents::RuleTestRequest,
    credentials::{ClientDraft, ClientRotation, KeyDraft, KeyRotation},
    user_tokens::UserTokenDraft,
};
use serde_json::Value;
use socket::tickets::TicketRequest;
use utoipa::{OpenApi, ToSchema};

use crate::openapi::complete;

/// Stands for the body of a chat.
#[derive(ToSchema)]
#[schema(as = ChatRequest)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "stands for its schema alone")]
struct Chat {
    agent_id: domain::AgentId,
    #[schema(min_length = 1, max_length = 32000)]
    message: String,
    #[schema(nullable = false, min_length = 1, max_length = 320)]
    user_id: Option<String>,
    #[schema(nullable = false, value_type = Option<MetadataSchema>)]
    metadata: Option<MetadataSchema>,
    #[schema(nullable = false)]
    on_busy: Option<OnBusy>,
}

#[derive(ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "stands for its schema alone")]
enum OnBusy {
    Queue,
    Reject,
}

/// Stands for the body that starts a conversation.
#[derive(ToSchema)]
#[schema(as = ConversationRequest)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "stands for its schema alone")]
struct Start {
    #[schema(nullable = false, min_length = 1, max_length = 320)]
    user_id: Option<String>,
    #[schema(nullable = false, max_length = 200)]
    title: Option<String>,
}

/// Stands for the body that makes a key: enumerations, times and objects that may be null.
#[derive(ToSchema)]
#[schema(as = KeyRequest)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "stands for its schema alone")]
struct Key {
    #[schema(min_items = 1)]
    scopes: Vec<Scope>,
    best_scope: Option<Scope>,
    expires_at: Option<Timestamp>,
    limits: Option<domain::LimitOverrides>,
}

#[derive(OpenApi)]
#[openapi(components(schemas(
    AgentDraft,
    ConversationDraft,
    FeedbackDraft,
    ImportedMessage,
    Chat,
    Start,
    Key,
    ClientDraft,
    ClientRotation,
    KeyDraft,
    KeyRotation,
    NoteDraft,
    RuleTestRequest,
    StaffMessageDraft,
    TicketRequest,
    UserDraft,
    UserTokenDraft,
)))]
struct Derived;

/// The document as it is derived.
pub(crate) fn derived() -> Value {
    serde_json::to_value(Derived::openapi()).unwrap()
}

/// The document as it is published, with the default sizes.
pub(crate) fn document() -> Value {
    let mut document = derived();
    complete(&mut document, &Sizes::default()).unwrap();
    document
}
