//! `DELETE /api/agents/{id}`.

use actix_web::HttpResponse;
use domain::AgentId;
use kit::{
    auth::{AgentsWrite, Authorized},
    problem::ApiError,
    request::{IfMatch, PathId},
};

/// Delete an agent, its conversations and their messages.
#[utoipa::path(
    delete, path = "/api/agents/{id}", operation_id = "delete_agent", tag = "Agents",
    params(("id" = AgentId, Path, description = "The agent.")),
    responses((status = 204, description = "The agent is deleted.")),
)]
pub async fn delete_agent(
    authorized: Authorized<AgentsWrite>,
    id: PathId<AgentId>,
    condition: IfMatch,
) -> Result<HttpResponse, ApiError> {
    authorized
        .agents
        .delete(authorized.caller(), id.0, &condition.0)
        .await?;
    Ok(HttpResponse::NoContent().finish())
}
