//! `POST /api/conversations`.

use actix_web::HttpResponse;
use application::conversations::NewConversation;
use domain::{Conversation, ConversationDraft, ProblemCode, config::Metadata};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    auth::{Authorized, ConversationsWrite},
    problem::ApiError,
    reads,
    request::{IdempotencyHeader, Json, JsonBody, created_response},
};

/// A conversation to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConversationRequest {
    /// The agent that replies in the conversation.
    agent_id: String,
    /// The user that the conversation belongs to.
    #[serde(default)]
    #[schema(
        min_length = 1,
        max_length = 320,
        pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
    )]
    user_id: Option<String>,
    /// A title for people.
    #[serde(default)]
    #[schema(
        max_length = 200,
        pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
    )]
    title: Option<String>,
    /// Pairs of strings for the client's own use.
    #[serde(default)]
    #[schema(value_type = domain::config::MetadataSchema)]
    metadata: Metadata,
}

impl JsonBody for ConversationRequest {
    const SCHEMA: &'static str = "ConversationRequest";
}

/// Create a conversation. The agent's greeting, if it has one, becomes its first message.
#[utoipa::path(
    post, path = "/api/conversations", operation_id = "create_conversation", tag = "Conversations",
    request_body(content = ConversationRequest, example = json!({
        "agentId": "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11", "userId": "ada", "title": "My order",
    })),
    responses((status = 201, description = "The conversation.", body = Conversation)),
)]
pub async fn create_conversation(
    authorized: Authorized<ConversationsWrite>,
    key: IdempotencyHeader,
    body: Json<ConversationRequest>,
) -> Result<HttpResponse, ApiError> {
    let body = body.0;
    let new = NewConversation {
        agent_id: body
            .agent_id
            .parse()
            .map_err(|_malformed| ProblemCode::AgentNotFound)?,
        user_id: body.user_id,
        draft: ConversationDraft {
            title: body.title,
            metadata: body.metadata,
        },
    };
    let created = authorized
        .conversations
        .create(authorized.caller(), new, key.0)
        .await?;
    let conversation = created.value;
    let path = format!("/api/conversations/{}", conversation.id);
    let response = created_response(path, created.is_replayed);
    Ok(reads::written(
        response,
        super::etag(&conversation),
        &conversation,
    ))
}
