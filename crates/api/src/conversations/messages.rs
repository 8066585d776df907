//! `GET /api/conversations/{id}/messages`.

use actix_web::{HttpRequest, HttpResponse};
use domain::{ConversationId, FaultCode, Message};
use ports::MessageOrder;

use crate::{
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
        ("order" = inline(Option<MessageOrderParameter>), Query, description = "`asc`: oldest first (default). `desc`: newest first."),
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
    let mut query = QueryParameters::read(&request, &["order", "limit", "cursor"]);
    let limit = query.limit();
    let order = match query.text("order") {
        None | Some("asc") => MessageOrder::Ascending,
        Some("desc") => MessageOrder::Descending,
        Some(_) => {
            query.add_fault("order", FaultCode::UnknownValue, "must be 'asc' or 'desc'");
            MessageOrder::Ascending
        }
    };
    let cursor = query.text("cursor").map(ToOwned::to_owned);
    query.finish()?;
    let caller = authorized.caller();
    let page = authorized
        .conversations
        .messages(caller, id.0, order, cursor.as_deref(), limit)
        .await?;
    Ok(reads::page(&request, page))
}

/// The schema of the parameter `order`.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum MessageOrderParameter {
    /// Oldest first.
    Asc,
    /// Newest first.
    Desc,
}
