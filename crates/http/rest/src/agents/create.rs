//! `POST /api/agents`.

use actix_web::HttpResponse;
use domain::{Agent, AgentDraft};
use kit::{
    auth::{AgentsWrite, Authorized},
    problem::ApiError,
    reads,
    request::{IdempotencyHeader, Json, created_response},
};

/// Create an agent.
#[utoipa::path(
    post, path = "/api/agents", operation_id = "create_agent", tag = "Agents",
    request_body(content = AgentDraft, example = json!({
        "name": "Ada", "personality": "Cheerful and brief.", "capabilities": ["orders"],
    })),
    responses((status = 201, description = "The agent.", body = Agent)),
)]
pub async fn create_agent(
    authorized: Authorized<AgentsWrite>,
    key: IdempotencyHeader,
    draft: Json<AgentDraft>,
) -> Result<HttpResponse, ApiError> {
    let created = authorized
        .agents
        .create(authorized.caller(), draft.0, key.0)
        .await?;
    let agent = created.value;
    let response = created_response(format!("/api/agents/{}", agent.id), created.is_replayed);
    Ok(reads::written(response, super::etag(agent.version), &agent))
}
