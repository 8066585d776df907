//! `GET /api/agents/{id}`.

use actix_web::{HttpRequest, HttpResponse, http::header};
use domain::{Agent, AgentId};

use crate::{
    access::{AgentsRead, Authorized},
    pages,
    problem::ApiError,
    request::{PathId, etag_matches},
};

/// Read an agent.
#[utoipa::path(
    get, path = "/api/agents/{id}", operation_id = "get_agent", tag = "Agents",
    params(("id" = AgentId, Path, description = "The agent.")),
    responses(
        (status = 200, description = "The agent.", body = Agent),
        (status = 304, description = "The agent is still at the version of `If-None-Match`."),
    ),
)]
pub async fn get_agent(
    authorized: Authorized<AgentsRead>,
    id: PathId<AgentId>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let found = authorized.agents.get(authorized.caller(), id.0).await?;
    let etag = super::etag(found.value.version);
    let fresh = etag_matches(request.headers(), &etag);
    let mut response = if fresh {
        HttpResponse::NotModified()
    } else {
        HttpResponse::Ok()
    };
    response
        .insert_header(pages::position(found.position))
        .insert_header((header::CACHE_CONTROL, "private, no-cache"))
        .insert_header((header::ETAG, etag));
    Ok(if fresh {
        response.finish()
    } else {
        response.json(&*found.value)
    })
}
