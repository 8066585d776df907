//! `GET /api/conversations`.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use application::conversations::ConversationListing;
use domain::{Audience, Conversation, ConversationKey, FaultCode, Seq, Timestamp};
use kit::{
    auth::{Authorized, ConversationsRead},
    problem::ApiError,
    reads,
    request::{PagePermit, QueryParameters},
    state::HttpState,
};
use ports::{ConversationConditions, Handling, RatingCondition};
use serde::Serialize;

use super::{
    agent_filter,
    feedback::{RatingParameter, rating},
    named_user,
};
use crate::turns::TIME_IN_WORDS;

/// The maximum length of the name of a member of staff, in characters.
const MAX_ASSIGNEE: u32 = 128;
/// The beginning of the parameters that name a pair of metadata.
pub(crate) const METADATA: &str = "metadata.";

/// The maximum length of a search, in characters.
const MAX_SEARCH: u32 = 200;

/// List conversations, the one with the latest activity first.
#[utoipa::path(
    get, path = "/api/conversations", operation_id = "list_conversations", tag = "Conversations",
    params(
        ("agentId" = Option<String>, Query, description = "Only conversations with this agent."),
        ("userId" = Option<String>, Query, min_length = 1, max_length = 320, pattern = r"^[^\x00]*$", description = "Only conversations of this user."),
        ("key" = Option<String>, Query, min_length = 1, max_length = 128, description = "Only the conversation with this key of `agentId` and `userId`. Without `userId`, only a conversation that belongs to no user."),
        ("handledBy" = inline(Option<HandlerParameter>), Query, description = "`staff`: only conversations that people handle. `agent`: only the others."),
        ("assignee" = Option<String>, Query, min_length = 1, max_length = 128, description = "Only conversations that this member of staff has taken over. Users cannot filter by it."),
        ("waiting" = inline(Option<WaitingParameter>), Query, description = "`true`: only conversations whose users wait for staff, those that wait longest first. Users cannot filter by it."),
        ("from" = Option<Timestamp>, Query, description = "Only conversations whose last message is of this time or later."),
        ("to" = Option<Timestamp>, Query, description = "Only conversations whose last message is from before this time."),
        ("metadata.name" = Option<String>, Query, description = "Only conversations with this value of the pair `name` of their metadata. Any name may follow the dot, and several pairs may be given."),
        ("rating" = inline(Option<RatingParameter>), Query, description = "Only conversations with a message that is rated so. For users only their own ratings count."),
        ("q" = Option<String>, Query, min_length = 1, max_length = 200, pattern = r"^[^\x00]*$", description = "Only conversations whose title or one of whose messages contains all of these words, in any case; there are no operators. Sorted by their newest match. A call looks at the newest 10,000 matches, so a page may be short or empty and have a `nextCursor`."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Maximum number of items in the page. A page also ends at about 1 MiB. With `from`, `to`, `metadata.name` or `rating` one request looks at about 10,000 conversations, so a page can be short, or empty, although others follow. Default 20."),
        ("cursor" = Option<String>, Query, pattern = "^[A-Za-z0-9_-]+$", description = "`nextCursor` of the previous page."),
    ),
    responses((status = 200, description = "A page of conversations.", body = ConversationPage)),
)]
pub async fn list_conversations(
    authorized: Authorized<ConversationsRead>,
    state: Data<HttpState>,
    _permit: PagePermit,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let Parameters {
        listing,
        key,
        text,
        cursor,
        limit,
    } = parameters(&authorized, &state, &request)?;
    let (caller, conversations) = (authorized.caller(), &authorized.conversations);
    let cursor = cursor.as_deref();
    if let (Some(key), Some(agent_id)) = (key, listing.agent_id) {
        let user_id = listing.user_id.as_deref();
        let page = conversations.list_named(caller, agent_id, user_id, key);
        return Ok(reads::page(&request, page.await.map_err(named_user)?));
    }
    let Some(text) = text else {
        let page = conversations.list(caller, listing, cursor, limit);
        return Ok(reads::page(&request, page.await.map_err(named_user)?));
    };
    let found = conversations.search(caller, listing, &text, cursor, limit);
    let found = found.await.map_err(named_user)?;
    let next_cursor = found.value.next;
    let mut response = reads::page_head(&request, found.position, next_cursor.as_deref());
    Ok(response.json(ConversationPage {
        data: found.value.page.items,
        next_cursor,
        has_more: found.value.page.has_more,
        searched_to: found.value.searched_to,
    }))
}

/// The parameters of a listing.
struct Parameters {
    listing: ConversationListing,
    key: Option<ConversationKey>,
    /// The words of a search.
    text: Option<String>,
    cursor: Option<String>,
    limit: usize,
}

const KNOWN: [&str; 12] = [
    "agentId",
    "userId",
    "key",
    "handledBy",
    "assignee",
    "waiting",
    "q",
    "from",
    "to",
    "rating",
    "limit",
    "cursor",
];

fn parameters(
    authorized: &Authorized<ConversationsRead>,
    state: &HttpState,
    request: &HttpRequest,
) -> Result<Parameters, ApiError> {
    let mut query = QueryParameters::read_with_prefix(request, &KNOWN, METADATA);
    let limit = query.limit();
    let agent_id = agent_filter(&query);
    let user_id = query.bounded_text("userId", state.bodies.sizes.user_id_characters);
    let key = query.parsed::<ConversationKey>("key", "not a conversation key");
    if key.is_some() && agent_id.is_none() {
        query.add_fault("key", FaultCode::NotCombinable, "needs 'agentId'");
    }
    let handling = handling(&mut query);
    let conditions = conditions(&mut query, authorized.caller().audience());
    let text = query.bounded_text("q", MAX_SEARCH);
    if key.is_some() && (handling.is_some() || !conditions.is_empty() || text.is_some()) {
        let detail = "can be combined with 'agentId' and 'userId' only";
        query.add_fault("key", FaultCode::NotCombinable, detail);
    }
    if text.is_some() && conditions.rating.is_some() {
        let detail = "cannot be combined with 'q'";
        query.add_fault("rating", FaultCode::NotCombinable, detail);
    }
    let cursor = query.text("cursor").map(ToOwned::to_owned);
    query.finish()?;
    let listing = ConversationListing {
        agent_id,
        user_id,
        handling,
        conditions,
    };
    Ok(Parameters {
        listing,
        key,
        text,
        cursor,
        limit,
    })
}

/// A page of conversations.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConversationPage {
    /// The items, in the order of the list.
    pub data: Vec<Conversation>,
    /// The value of `cursor` for the next page; null on the last page.
    pub next_cursor: Option<String>,
    /// True if more items follow.
    pub has_more: bool,
    /// On pages of a search: the `seq` of the last event whose texts were searched; null while older
    /// conversations are still being indexed.
    #[schema(required = false, value_type = Option<i64>)]
    pub searched_to: Option<Seq>,
}

/// Reads the conditions that no index answers. To users only their own ratings exist.
fn conditions(query: &mut QueryParameters, audience: Audience) -> ConversationConditions {
    let rating = rating(query);
    ConversationConditions {
        from: query.parsed("from", TIME_IN_WORDS),
        to: query.parsed("to", TIME_IN_WORDS),
        metadata: query.prefixed(METADATA),
        rating: rating.map(|rating| RatingCondition {
            rating,
            by_user: audience == Audience::User,
        }),
    }
}

/// Reads who handles the conversations.
fn handling(query: &mut QueryParameters) -> Option<Handling> {
    let assignee = query.bounded_text("assignee", MAX_ASSIGNEE);
    let handler = query.text("handledBy").map(ToOwned::to_owned);
    let waiting = query.text("waiting").map(ToOwned::to_owned);
    if waiting.as_deref().is_some_and(|waiting| waiting != "true") {
        query.add_fault("waiting", FaultCode::UnknownValue, "must be 'true'");
    }
    let is_staff = waiting.is_some() || assignee.is_some();
    match handler.as_deref() {
        Some("agent") if is_staff => {
            let detail = "'agent' cannot be combined with 'assignee' and 'waiting'";
            query.add_fault("handledBy", FaultCode::NotCombinable, detail);
            None
        }
        Some("agent") => Some(Handling::Agent),
        Some("staff") | None if waiting.is_some() => Some(Handling::Waiting(assignee)),
        Some("staff") => Some(Handling::Staff(assignee)),
        None => assignee.map(|assignee| Handling::Staff(Some(assignee))),
        Some(_) => {
            let detail = "must be 'agent' or 'staff'";
            query.add_fault("handledBy", FaultCode::UnknownValue, detail);
            None
        }
    }
}

/// The schema of the parameter `handledBy`.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum HandlerParameter {
    /// Agents.
    Agent,
    /// People.
    Staff,
}

/// The schema of the parameter `waiting`.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum WaitingParameter {
    /// Only those that wait.
    True,
}
