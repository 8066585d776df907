//! `GET /api/conversations/{id}/turns`.

use actix_web::{HttpRequest, HttpResponse};
use domain::{ConversationId, FaultCode, Turn, TurnStatus};
use kit::{
    auth::{Authorized, ConversationsRead},
    problem::ApiError,
    reads::{self, PageOf},
    request::{PagePermit, PathId, QueryParameters},
};
use ports::TurnFilter;

use super::messages::ListingOrderParameter;

/// List the turns of a conversation, in the order in which they began.
#[utoipa::path(
    get, path = "/api/conversations/{id}/turns", operation_id = "list_conversation_turns", tag = "Conversations",
    params(
        ("id" = ConversationId, Path, description = "The conversation."),
        ("status" = inline(Option<TurnFilterParameter>), Query, description = "Only turns with this status; `open` means all that have not ended."),
        ("order" = inline(Option<ListingOrderParameter>), Query, description = "`asc`: oldest first (default). `desc`: newest first."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Maximum number of items in the page. A page also ends at about 1 MiB. Default 20."),
        ("cursor" = Option<String>, Query, pattern = "^[A-Za-z0-9_-]+$", description = "`nextCursor` of the previous page."),
    ),
    responses((status = 200, description = "A page of turns.", body = PageOf<Turn>)),
)]
pub async fn list_conversation_turns(
    authorized: Authorized<ConversationsRead>,
    id: PathId<ConversationId>,
    _permit: PagePermit,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let mut query = QueryParameters::read(&request, &["status", "order", "limit", "cursor"]);
    let limit = query.limit();
    let filter = turn_filter(&mut query);
    let order = query.order();
    let cursor = query.text("cursor").map(ToOwned::to_owned);
    query.finish()?;
    let page = authorized
        .turns
        .list(
            authorized.caller(),
            id.0,
            (filter, order),
            cursor.as_deref(),
            limit,
        )
        .await?;
    Ok(reads::page(&request, page))
}

/// Reads the parameter `status`.
pub(crate) fn turn_filter(query: &mut QueryParameters) -> TurnFilter {
    let Some(text) = query.text("status") else {
        return TurnFilter::All;
    };
    let statuses = TurnStatus::ALL.map(TurnFilter::Status);
    let mut filters = statuses.into_iter().chain([TurnFilter::Open]);
    if let Some(filter) = filters.find(|filter| filter.name() == Some(text)) {
        return filter;
    }
    query.add_fault("status", FaultCode::UnknownValue, "no status of a turn");
    TurnFilter::All
}

/// The schema of the parameter `status`.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum TurnFilterParameter {
    /// Not ended.
    Open,
    /// Waiting behind the turn in progress.
    Queued,
    /// Being answered.
    InProgress,
    /// Waiting for an answer to a tool call.
    RequiresAction,
    /// With a reply.
    Completed,
    /// Ended without a reply.
    Failed,
    /// Ended by a caller.
    Cancelled,
}
