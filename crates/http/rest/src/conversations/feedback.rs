//! Ratings of messages: `/api/conversations/{id}/messages/{messageId}/feedback` and `/api/feedback`.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use application::conversations::FeedbackListing;
use domain::{
    ConversationId, FaultCode, Feedback, FeedbackDraft, MessageId, RatedMessage, Rating, Timestamp,
};
use kit::{
    auth::{Authorized, ChatWrite, ConversationsRead},
    problem::ApiError,
    reads::{self, PageOf},
    request::{Json, JsonBody, PagePermit, PathId, QueryParameters},
    state::HttpState,
};

use super::{agent_filter, named_user};
use crate::turns::TIME_IN_WORDS;

impl JsonBody for FeedbackBody {
    const SCHEMA: &'static str = "FeedbackDraft";
}

/// The body of a rating.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub struct FeedbackBody(FeedbackDraft);

/// Rate a message of the agent or of staff.
///
/// The user of a conversation has one rating of each message, and so has every other principal. It replaces the
/// one before. A key or a client rates for the user with `userId`.
#[utoipa::path(
    put, path = "/api/conversations/{id}/messages/{messageId}/feedback", operation_id = "rate_message", tag = "Conversations",
    params(
        ("id" = ConversationId, Path, description = "The conversation."),
        ("messageId" = MessageId, Path, description = "The message."),
    ),
    request_body(content = FeedbackDraft, example = json!({"rating": "down", "comment": "The price is wrong."})),
    responses((status = 200, description = "The rating.", body = Feedback)),
)]
pub async fn rate_message(
    authorized: Authorized<ChatWrite>,
    id: PathId<ConversationId>,
    message: PathId<MessageId>,
    body: Json<FeedbackBody>,
) -> Result<HttpResponse, ApiError> {
    let draft = body.0.0;
    let rating = (draft.rating, draft.comment().map(ToOwned::to_owned));
    let named = draft.user_id.as_deref();
    let (conversations, caller) = (&authorized.conversations, authorized.caller());
    let rated = conversations.rate(caller, (id.0, message.0), named, Some(rating));
    Ok(HttpResponse::Ok().json(rated.await?))
}

/// Delete the rating of a message. Without one, nothing happens.
#[utoipa::path(
    delete, path = "/api/conversations/{id}/messages/{messageId}/feedback", operation_id = "delete_feedback", tag = "Conversations",
    params(
        ("id" = ConversationId, Path, description = "The conversation."),
        ("messageId" = MessageId, Path, description = "The message."),
        ("userId" = Option<String>, Query, min_length = 1, max_length = 320, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$", description = "The user of the conversation, if a key or a client deletes its rating."),
    ),
    responses((status = 204, description = "The message has no such rating.")),
)]
pub async fn delete_feedback(
    authorized: Authorized<ChatWrite>,
    state: Data<HttpState>,
    id: PathId<ConversationId>,
    message: PathId<MessageId>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let mut query = QueryParameters::read(&request, &["userId"]);
    let named = query.bounded_text("userId", state.bodies.sizes.user_id_characters);
    query.finish()?;
    let (conversations, caller) = (&authorized.conversations, authorized.caller());
    let deleted = conversations.rate(caller, (id.0, message.0), named.as_deref(), None);
    deleted.await.map_err(named_user)?;
    Ok(HttpResponse::NoContent().finish())
}

/// List ratings of messages, the one that has changed last first. Users see their own.
///
/// A page looks at no more than 10,000 ratings, so it can be short, or empty, and have a `nextCursor`.
#[utoipa::path(
    get, path = "/api/feedback", operation_id = "list_feedback", tag = "Conversations",
    params(
        ("agentId" = Option<String>, Query, description = "Only ratings of messages of this agent."),
        ("rating" = inline(Option<RatingParameter>), Query, description = "Only these ratings."),
        ("from" = Option<Timestamp>, Query, description = "Only ratings that have changed last at this time or later."),
        ("to" = Option<Timestamp>, Query, description = "Only ratings that have changed last before this time."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Maximum number of items in the page. A page also ends at about 1 MiB. Default 20."),
        ("cursor" = Option<String>, Query, pattern = "^[A-Za-z0-9_-]+$", description = "`nextCursor` of the previous page."),
    ),
    responses((status = 200, description = "A page of ratings.", body = PageOf<RatedMessage>)),
)]
pub async fn list_feedback(
    authorized: Authorized<ConversationsRead>,
    _permit: PagePermit,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let known = ["agentId", "rating", "from", "to", "limit", "cursor"];
    let mut query = QueryParameters::read(&request, &known);
    let limit = query.limit();
    let listing = FeedbackListing {
        agent_id: agent_filter(&query),
        rating: rating(&mut query),
        from: query.parsed("from", TIME_IN_WORDS),
        to: query.parsed("to", TIME_IN_WORDS),
    };
    let cursor = query.text("cursor").map(ToOwned::to_owned);
    query.finish()?;
    let (conversations, caller) = (&authorized.conversations, authorized.caller());
    let page = conversations.list_feedback(caller, listing, cursor.as_deref(), limit);
    Ok(reads::page(&request, page.await?))
}

/// Reads the parameter `rating`.
pub(crate) fn rating(query: &mut QueryParameters) -> Option<Rating> {
    let rating = Rating::known(query.text("rating")?);
    if rating.is_none() {
        let detail = "must be 'up' or 'down'";
        query.add_fault("rating", FaultCode::UnknownValue, detail);
    }
    rating
}

/// The schema of the parameter `rating`.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum RatingParameter {
    /// Good ones.
    Up,
    /// The others.
    Down,
}
