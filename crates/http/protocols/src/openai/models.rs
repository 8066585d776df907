//! `GET /v1/models` and `GET /v1/models/{id}`: the agents.

use actix_web::{HttpResponse, web::Path};
use application::agents::AgentListing;
use domain::{Agent, AgentId, ProblemCode, TenantId};
use kit::{
    auth::{AgentsRead, Authorized},
    problem::ApiError,
    request::PagePermit,
};
use serde::Serialize;

/// The maximum number of models in the list, which has no pages.
const MAX_MODELS: usize = 1_000;
const PAGE_LIMIT: usize = 100;

/// An agent, as a model. Its name is not a member of OpenAI's; some clients show it.
#[derive(Debug, Serialize)]
struct Model {
    id: AgentId,
    object: &'static str,
    /// The time of creation, in seconds.
    created: i64,
    owned_by: String,
    name: String,
}

#[derive(Debug, Serialize)]
struct ModelList {
    object: &'static str,
    data: Vec<Model>,
}

impl Model {
    fn new(agent: &Agent, tenant: &TenantId) -> Self {
        Self {
            id: agent.id,
            object: "model",
            created: agent.created_at.milliseconds().div_euclid(1_000),
            owned_by: tenant.to_string(),
            name: agent.name.clone(),
        }
    }
}

/// Lists the newest agents.
pub(super) async fn list(
    authorized: Authorized<AgentsRead>,
    _permit: PagePermit,
) -> Result<HttpResponse, ApiError> {
    let caller = authorized.caller();
    let (mut data, mut cursor) = (Vec::new(), None::<String>);
    while data.len() < MAX_MODELS {
        let limit = PAGE_LIMIT.min(MAX_MODELS - data.len());
        let listing = authorized
            .agents
            .list(caller, &AgentListing::All, cursor.as_deref(), limit);
        let (page, next) = listing.await?.value;
        let models = page
            .items
            .iter()
            .map(|agent| Model::new(agent, &caller.tenant));
        data.extend(models);
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    let object = "list";
    Ok(HttpResponse::Ok().json(ModelList { object, data }))
}

/// Returns one agent.
pub(super) async fn get(
    authorized: Authorized<AgentsRead>,
    model: Path<String>,
) -> Result<HttpResponse, ApiError> {
    let id = find(&authorized, &model).await?;
    let caller = authorized.caller();
    let agent = authorized.agents.get(caller, id).await?.value;
    Ok(HttpResponse::Ok().json(Model::new(&agent, &caller.tenant)))
}

/// Returns the agent that a client names as its model: by its id, or by its name if no other has
/// it. An agent whose name has the form of an id is not found by it.
pub(super) async fn find<R>(authorized: &Authorized<R>, model: &str) -> Result<AgentId, ApiError> {
    if let Ok(id) = model.parse() {
        return Ok(id);
    }
    let named = authorized.agents.find_named(authorized.caller(), model, 2);
    match named.await?.as_slice() {
        [agent] => Ok(agent.id),
        [] => {
            let detail = "No agent has this id or name.";
            Err(ApiError::new(ProblemCode::AgentNotFound).with_detail(detail))
        }
        _ => {
            let detail = "Several agents have this name; use the id of one.";
            Err(ApiError::new(ProblemCode::AgentNotFound).with_detail(detail))
        }
    }
}
