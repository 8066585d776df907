//! `GET /api/conversations/{id}/messages`.

use actix_web::{HttpRequest, HttpResponse};
use domain::{ConversationId, FaultCode, Message};
use kit::{
    auth::{Authorized, ConversationsRead},
    problem::ApiError,
    reads::{self, PageOf},
    request::{PagePermit, PathId, QueryParameters},
};

/// List the messages of a conversation.
#[utoipa::path(
    get, path = "/api/conversations/{id}/messages", operation_id = "list_messages", tag = "Conversations",
    params(
        ("id" = ConversationId, Path, description = "The conversation."),
        ("order" = inline(Option<ListingOrderParameter>), Query, description = "`asc`: oldest first (default). `desc`: newest first."),
        ("superseded" = inline(Option<SupersededParameter>), Query, description = "`include`: also the messages that later turns have replaced."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Maximum number of items in the page. A page also ends at about 1 MiB. Default 20."),
        ("cursor" = Option<String>, Query, pattern = "^[A-Za-z0-9_-]+$", description = "`nextCursor` of the previous page."),
    ),
    responses((status = 200, description = "A page of messages.", body = PageOf<Message>)),
)]
pub async fn list_messages(
    authorized: Authorized<ConversationsRead>,
    id: PathId<ConversationId>,
    _permit: PagePermit,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let known = ["superseded", "order", "limit", "cursor"];
    let mut query = QueryParameters::read(&request, &known);
    let limit = query.limit();
    let order = query.order();
    let with_superseded = match query.text("superseded") {
        None => false,
        Some("include") => true,
        Some(_) => {
            query.add_fault("superseded", FaultCode::UnknownValue, "must be 'include'");
            false
        }
    };
    let cursor = query.text("cursor").map(ToOwned::to_owned);
    query.finish()?;
    let caller = authorized.caller();
    let page = authorized
        .conversations
        .messages(
            caller,
            id.0,
            order,
            cursor.as_deref(),
            limit,
            with_superseded,
        )
        .await?;
    Ok(reads::page(&request, page))
}

/// The schema of the parameter `superseded`.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum SupersededParameter {
    /// Also list superseded messages.
    Include,
}

/// The schema of the parameter `order`.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum ListingOrderParameter {
    /// Oldest first.
    Asc,
    /// Newest first.
    Desc,
}
