//! `GET /api/agents/{id}`.

use actix_web::{HttpRequest, HttpResponse};
use domain::{Agent, AgentId};
use kit::{
    auth::{AgentsRead, Authorized},
    problem::ApiError,
    reads,
    request::PathId,
};

/// Read an agent.
#[utoipa::path(
    get, path = "/api/agents/{id}", operation_id = "get_agent", tag = "Agents",
    params(("id" = AgentId, Path, description = "The agent.")),
    responses(
        (status = 200, description = "The agent.", body = Agent),
        (status = 304, description = "The agent has not changed since the version in `If-None-Match`."),
    ),
)]
pub async fn get_agent(
    authorized: Authorized<AgentsRead>,
    id: PathId<AgentId>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let found = authorized.agents.get(authorized.caller(), id.0).await?;
    let etag = super::etag(found.value.version);
    Ok(reads::single(&request, etag, found.position, &*found.value))
}
