//! `GET /api/conversations`.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use application::{ConversationError, conversations::ConversationListing};
use domain::{AgentId, Conversation, FaultCode};

use crate::{
    access::{Authorized, ConversationsRead},
    problem::ApiError,
    reads::{self, PageOf},
    request::{PagePermit, QueryParameters},
    state::ApiState,
};

/// List conversations, latest activity first.
#[utoipa::path(
    get, path = "/api/conversations", operation_id = "list_conversations", tag = "Conversations",
    params(
        ("agentId" = Option<String>, Query, description = "Those with this agent. Not with `userId`."),
        ("userId" = Option<String>, Query, min_length = 1, max_length = 320, pattern = r"^[^\x00]*$", description = "Those of this person. Not with `agentId`."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Items of a page, which also ends at about 1 MiB. Default 20."),
        ("cursor" = Option<String>, Query, pattern = "^[A-Za-z0-9_-]+$", description = "`nextCursor` of the page before."),
    ),
    responses((status = 200, description = "A page of conversations.", body = PageOf<Conversation>)),
)]
pub async fn list_conversations(
    authorized: Authorized<ConversationsRead>,
    state: Data<ApiState>,
    _permit: PagePermit,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let mut query = QueryParameters::read(&request, &["agentId", "userId", "limit", "cursor"]);
    let limit = query.limit();
    let agent = query.text("agentId").map(str::parse::<AgentId>);
    let user_id = query.bounded_text("userId", state.sizes.user_id_characters);
    if agent.is_some() && user_id.is_some() {
        query.refuse(
            "userId",
            FaultCode::NotCombinable,
            "not together with 'agentId'",
        );
    }
    let cursor = query.text("cursor").map(ToOwned::to_owned);
    query.finish()?;
    // Of an agent that cannot exist there are no conversations, as of one that does not.
    let agent_id = match agent {
        Some(Err(_malformed)) => Some(AgentId::new(uuid::Uuid::nil())),
        Some(Ok(id)) => Some(id),
        None => None,
    };
    let listing = ConversationListing { agent_id, user_id };
    let page = authorized
        .conversations
        .list(authorized.caller(), listing, cursor.as_deref(), limit)
        .await
        .map_err(|error| match error {
            ConversationError::ForeignUser => {
                ApiError::parameter("userId", FaultCode::NotCombinable, error.to_string())
            }
            other => other.into(),
        })?;
    Ok(reads::page(&request, page))
}
