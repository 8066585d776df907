//! `/api/profiles`: the public part of agents.

use actix_web::{HttpRequest, HttpResponse};
use application::agents::AgentListing;
use domain::{AgentId, AsOf, Page, Profile};
use kit::{
    auth::{Authorized, ChatWrite},
    problem::ApiError,
    reads::{self, PageOf},
    request::{PagePermit, PathId, QueryParameters},
};

/// List the profiles of agents, newest first.
#[utoipa::path(
    get, path = "/api/profiles", operation_id = "list_profiles", tag = "Agents",
    params(
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Maximum number of items in the page. A page also ends at about 1 MiB. Default 20."),
        ("cursor" = Option<String>, Query, pattern = "^[A-Za-z0-9_-]+$", description = "`nextCursor` of the previous page."),
    ),
    responses((status = 200, description = "A page of profiles.", body = PageOf<Profile>)),
)]
pub async fn list_profiles(
    authorized: Authorized<ChatWrite>,
    _permit: PagePermit,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let mut query = QueryParameters::read(&request, &["limit", "cursor"]);
    let limit = query.limit();
    let cursor = query.text("cursor").map(ToOwned::to_owned);
    query.finish()?;
    let (agents, caller) = (&authorized.agents, authorized.caller());
    let page = agents.list(caller, &AgentListing::All, cursor.as_deref(), limit);
    let AsOf { value, position } = page.await?;
    let (page, next) = value;
    let mut items = Vec::with_capacity(page.items.len());
    for agent in page.items {
        items.push(agents.profile(caller, &agent).await?);
    }
    let has_more = page.has_more;
    let value = (Page { items, has_more }, next);
    Ok(reads::page(&request, AsOf { value, position }))
}

/// Read the profile of an agent: its public part, which needs no permission to read the agent itself.
#[utoipa::path(
    get, path = "/api/profiles/{id}", operation_id = "get_profile", tag = "Agents",
    params(("id" = AgentId, Path, description = "The agent.")),
    responses((status = 200, description = "The profile.", body = Profile)),
)]
pub async fn get_profile(
    authorized: Authorized<ChatWrite>,
    id: PathId<AgentId>,
) -> Result<HttpResponse, ApiError> {
    let (agents, caller) = (&authorized.agents, authorized.caller());
    let found = agents.get(caller, id.0).await?;
    let profile = agents.profile(caller, &found.value).await?;
    Ok(HttpResponse::Ok()
        .insert_header(reads::position(found.position))
        .json(profile))
}
