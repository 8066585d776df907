//! `PATCH /api/agents/{id}`.

use actix_web::HttpResponse;
use domain::{Agent, AgentId};
use kit::{
    auth::{AgentsWrite, Authorized},
    problem::ApiError,
    reads,
    request::{IfMatch, JsonBody, MergePatch, PathId},
};

/// The schema of a merge patch of an agent.
pub struct AgentPatch;

impl JsonBody for AgentPatch {
    const SCHEMA: &'static str = "AgentDraftPatch";
}

/// Change an agent with a JSON merge patch (RFC 7396): absent members keep their values, `null`
/// removes a member.
#[utoipa::path(
    patch, path = "/api/agents/{id}", operation_id = "patch_agent", tag = "Agents",
    params(("id" = AgentId, Path, description = "The agent.")),
    request_body(
        content(
            (serde_json::Value = "application/merge-patch+json", example = json!({"personality": "Formal."})),
            (serde_json::Value = "application/json", example = json!({"config": {"fallbackReply": null}})),
        ),
    ),
    responses((status = 200, description = "The changed agent.", body = Agent)),
)]
pub async fn patch_agent(
    authorized: Authorized<AgentsWrite>,
    id: PathId<AgentId>,
    condition: IfMatch,
    patch: MergePatch<AgentPatch>,
) -> Result<HttpResponse, ApiError> {
    let caller = authorized.caller();
    let agent = authorized
        .agents
        .patch(caller, id.0, &patch.value, &condition.0)
        .await?;
    Ok(reads::written(
        HttpResponse::Ok(),
        super::etag(agent.version),
        &agent,
    ))
}
