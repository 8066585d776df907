//! `GET /api/principal`.

use actix_web::HttpResponse;
use domain::{AgentId, AgentReach, PrincipalId, Scopes, TenantId};
use kit::auth::{AnyCredential, Authorized};
use serde::Serialize;
use utoipa::ToSchema;

/// The principal of the caller.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrincipalBody {
    /// The id, as `actor` in events.
    #[schema(example = "key:7OiAipbd2WnE")]
    id: PrincipalId,
    /// The tenant of the caller.
    tenant_id: TenantId,
    /// The user id, for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    user_id: Option<String>,
    /// The scopes of the credential.
    #[schema(value_type = Vec<domain::Scope>)]
    scopes: Scopes,
    /// The only agents that the credential can reach; absent for all.
    #[serde(skip_serializing_if = "AgentReach::is_all")]
    #[schema(value_type = Option<Vec<AgentId>>, nullable = false)]
    agent_ids: AgentReach,
}

/// Read who the caller is: its tenant and its scopes.
#[utoipa::path(
    get, path = "/api/principal", operation_id = "get_principal", tag = "Catalogue",
    responses((status = 200, description = "The principal.", body = PrincipalBody)),
)]
pub async fn get_principal(authorized: Authorized<AnyCredential>) -> HttpResponse {
    let principal = authorized.caller();
    HttpResponse::Ok().json(PrincipalBody {
        id: principal.id.clone(),
        tenant_id: principal.tenant.clone(),
        user_id: principal.user_id.clone(),
        scopes: principal.scopes.clone(),
        agent_ids: principal.agents.clone(),
    })
}
