//! `GET /api/agents`.

use std::collections::BTreeSet;

use actix_web::{HttpRequest, HttpResponse, web::Data};
use application::{PAGE_LIMIT, agents::AgentListing};
use domain::{Agent, AgentId, FaultCode};
use kit::{
    auth::{AgentsRead, Authorized},
    problem::ApiError,
    reads::{self, PageOf},
    request::{PagePermit, QueryParameters},
    state::HttpState,
};

/// The length of 100 ids, with commas.
const MAX_IDS_CHARACTERS: u32 = 3_700;

/// List agents: newest first, or by name if `name` is given.
#[utoipa::path(
    get, path = "/api/agents", operation_id = "list_agents", tag = "Agents",
    params(
        ("name" = Option<String>, Query, min_length = 1, max_length = 128, pattern = r"^[^\x00]*$", description = "Only agents whose name starts with this text, ignoring case, in order of name. Cannot be combined with `capability`."),
        ("capability" = Option<String>, Query, min_length = 1, max_length = 64, pattern = r"^[^\x00]*$", description = "Only agents with this capability. Cannot be combined with `name`."),
        ("ids" = Option<String>, Query, min_length = 1, max_length = 3700, pattern = r"^[^\x00]*$", description = "Only the agents with these ids, at most 100, separated by commas, newest first. Ids of other agents are ignored. Cannot be combined with `name` and `capability`. `limit` is 100 by default."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Maximum number of items in the page. A page also ends at about 1 MiB. Default 20."),
        ("cursor" = Option<String>, Query, pattern = "^[A-Za-z0-9_-]+$", description = "`nextCursor` of the previous page."),
    ),
    responses((status = 200, description = "A page of agents.", body = PageOf<Agent>)),
)]
pub async fn list_agents(
    authorized: Authorized<AgentsRead>,
    state: Data<HttpState>,
    _permit: PagePermit,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let mut query =
        QueryParameters::read(&request, &["name", "capability", "ids", "limit", "cursor"]);
    let ids = agent_ids(&mut query);
    let limit = match (&ids, query.text("limit")) {
        (Some(_), None) => PAGE_LIMIT,
        _ => query.limit(),
    };
    let name = query.bounded_text("name", state.bodies.sizes.name_characters);
    let capability = query.bounded_text("capability", state.bodies.sizes.capability_characters);
    if name.is_some() && capability.is_some() {
        let detail = "cannot be combined with 'name'";
        query.add_fault("capability", FaultCode::NotCombinable, detail);
    }
    if ids.is_some() && (name.is_some() || capability.is_some()) {
        let detail = "cannot be combined with 'name' and 'capability'";
        query.add_fault("ids", FaultCode::NotCombinable, detail);
    }
    let cursor = query.text("cursor").map(ToOwned::to_owned);
    query.finish()?;
    let listing = match (ids, name, capability) {
        (Some(ids), ..) => AgentListing::Ids(ids),
        (None, Some(name), _) => AgentListing::Name(name),
        (None, None, Some(capability)) => AgentListing::Capability(capability),
        (None, None, None) => AgentListing::All,
    };
    let page = authorized
        .agents
        .list(authorized.caller(), &listing, cursor.as_deref(), limit)
        .await?;
    Ok(reads::page(&request, page))
}

/// Returns the ids of the parameter `ids`, without malformed ones, which belong to no agent.
fn agent_ids(query: &mut QueryParameters) -> Option<BTreeSet<AgentId>> {
    let text = query.bounded_text("ids", MAX_IDS_CHARACTERS)?;
    let ids: Vec<&str> = text.split(',').collect();
    if ids.len() > PAGE_LIMIT {
        query.add_fault("ids", FaultCode::TooMany, "at most 100 ids");
    }
    Some(ids.iter().filter_map(|id| id.trim().parse().ok()).collect())
}
