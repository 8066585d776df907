//! `GET /api/conversations`.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use application::{ConversationError, conversations::ConversationListing};
use domain::{AgentId, Conversation, ConversationKey, FaultCode};
use kit::{
    auth::{Authorized, ConversationsRead},
    problem::ApiError,
    reads::{self, PageOf},
    request::{PagePermit, QueryParameters},
    state::HttpState,
};

/// List conversations, the one with the latest activity first.
#[utoipa::path(
    get, path = "/api/conversations", operation_id = "list_conversations", tag = "Conversations",
    params(
        ("agentId" = Option<String>, Query, description = "Only conversations with this agent."),
        ("userId" = Option<String>, Query, min_length = 1, max_length = 320, pattern = r"^[^\x00]*$", description = "Only conversations of this user."),
        ("key" = Option<String>, Query, min_length = 1, max_length = 128, description = "Only the conversation with this key of `agentId` and `userId`. Without `userId`, only a conversation that belongs to no user."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Maximum number of items in the page. A page also ends at about 1 MiB. Default 20."),
        ("cursor" = Option<String>, Query, pattern = "^[A-Za-z0-9_-]+$", description = "`nextCursor` of the previous page."),
    ),
    responses((status = 200, description = "A page of conversations.", body = PageOf<Conversation>)),
)]
pub async fn list_conversations(
    authorized: Authorized<ConversationsRead>,
    state: Data<HttpState>,
    _permit: PagePermit,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let mut query =
        QueryParameters::read(&request, &["agentId", "userId", "key", "limit", "cursor"]);
    let limit = query.limit();
    let agent = query.text("agentId").map(str::parse::<AgentId>);
    let user_id = query.bounded_text("userId", state.bodies.sizes.user_id_characters);
    let key = query.parsed::<ConversationKey>("key", "not a conversation key");
    if key.is_some() && agent.is_none() {
        query.add_fault("key", FaultCode::NotCombinable, "needs 'agentId'");
    }
    let cursor = query.text("cursor").map(ToOwned::to_owned);
    query.finish()?;
    // A malformed id selects no conversations, like the id of an agent that does not exist.
    let agent_id = match agent {
        Some(Err(_malformed)) => Some(AgentId::new(uuid::Uuid::nil())),
        Some(Ok(id)) => Some(id),
        None => None,
    };
    let (caller, conversations) = (authorized.caller(), &authorized.conversations);
    let page = if let (Some(key), Some(agent_id)) = (key, agent_id) {
        let user_id = user_id.as_deref();
        conversations
            .list_named(caller, agent_id, user_id, key)
            .await
    } else {
        let listing = ConversationListing { agent_id, user_id };
        let cursor = cursor.as_deref();
        conversations.list(caller, listing, cursor, limit).await
    };
    let page = page.map_err(|error| match error {
        ConversationError::ForeignUser => {
            ApiError::parameter("userId", FaultCode::NotCombinable, error.to_string())
        }
        other => other.into(),
    })?;
    Ok(reads::page(&request, page))
}
