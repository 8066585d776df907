//! `GET /api/agents`.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use application::agents::AgentListing;
use domain::{Agent, FaultCode};

use crate::{
    auth::{AgentsRead, Authorized},
    problem::ApiError,
    reads::{self, PageOf},
    request::{PagePermit, QueryParameters},
    state::ApiState,
};

/// List agents: newest first, or by name if `name` is given.
#[utoipa::path(
    get, path = "/api/agents", operation_id = "list_agents", tag = "Agents",
    params(
        ("name" = Option<String>, Query, min_length = 1, max_length = 128, pattern = r"^[^\x00]*$", description = "Only agents whose name starts with this text, ignoring case, in order of name. Cannot be combined with `capability`."),
        ("capability" = Option<String>, Query, min_length = 1, max_length = 64, pattern = r"^[^\x00]*$", description = "Only agents with this capability. Cannot be combined with `name`."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Maximum number of items in the page. A page also ends at about 1 MiB. Default 20."),
        ("cursor" = Option<String>, Query, pattern = "^[A-Za-z0-9_-]+$", description = "`nextCursor` of the previous page."),
    ),
    responses((status = 200, description = "A page of agents.", body = PageOf<Agent>)),
)]
pub async fn list_agents(
    authorized: Authorized<AgentsRead>,
    state: Data<ApiState>,
    _permit: PagePermit,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let mut query = QueryParameters::read(&request, &["name", "capability", "limit", "cursor"]);
    let limit = query.limit();
    let name = query.bounded_text("name", state.sizes.name_characters);
    let capability = query.bounded_text("capability", state.sizes.capability_characters);
    if name.is_some() && capability.is_some() {
        query.add_fault(
            "capability",
            FaultCode::NotCombinable,
            "cannot be combined with 'name'",
        );
    }
    let cursor = query.text("cursor").map(ToOwned::to_owned);
    query.finish()?;
    let listing = match (name, capability) {
        (Some(name), _) => AgentListing::Name(name),
        (None, Some(capability)) => AgentListing::Capability(capability),
        (None, None) => AgentListing::All,
    };
    let page = authorized
        .agents
        .list(authorized.caller(), &listing, cursor.as_deref(), limit)
        .await?;
    Ok(reads::page(&request, page))
}
