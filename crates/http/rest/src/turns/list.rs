//! `GET /api/turns`.

use actix_web::{HttpRequest, HttpResponse};
use domain::{AgentReach, FaultCode, Timestamp, Turn};
use kit::{
    auth::{Authorized, ConversationsRead},
    problem::ApiError,
    reads::{self, PageOf},
    request::{PagePermit, QueryParameters},
};
use ports::{TurnConditions, WaitingFor};

use super::TIME_IN_WORDS;
use crate::conversations::{
    METADATA, RatingParameter, TurnFilterParameter, agent_filter, named_user, rating, turn_filter,
};

/// List the turns of all conversations, the newest first. Users see those of their own conversations.
///
/// One request looks at no more than 10,000 turns, so a page can be short, or empty, and have a `nextCursor`.
#[utoipa::path(
    get, path = "/api/turns", operation_id = "list_turns", tag = "Chat",
    params(
        ("waitingFor" = inline(Option<WaitingForParameter>), Query, description = "Only turns with tool calls that wait for an answer: of the user or a page, or of staff. For users, calls that they do not see wait for nothing."),
        ("status" = inline(Option<TurnFilterParameter>), Query, description = "Only turns with this status; `open` means all that have not ended."),
        ("agentId" = Option<String>, Query, description = "Only turns of this agent."),
        ("userId" = Option<String>, Query, description = "Only turns of conversations of this user."),
        ("from" = Option<Timestamp>, Query, description = "Only turns that were created at this time or later."),
        ("to" = Option<Timestamp>, Query, description = "Only turns that were created before this time."),
        ("metadata.name" = Option<String>, Query, description = "Only turns with this value of the pair `name` of their metadata. Any name may follow the dot, and several pairs may be given."),
        ("rating" = inline(Option<RatingParameter>), Query, description = "Only turns whose reply is rated so. For users only their own ratings count."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Maximum number of items in the page. A page also ends at about 1 MiB. Default 20."),
        ("cursor" = Option<String>, Query, pattern = "^[A-Za-z0-9_-]+$", description = "`nextCursor` of the previous page."),
    ),
    responses((status = 200, description = "A page of turns.", body = PageOf<Turn>)),
)]
pub async fn list_turns(
    authorized: Authorized<ConversationsRead>,
    _permit: PagePermit,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let mut query = QueryParameters::read_with_prefix(&request, &KNOWN, METADATA);
    let limit = query.limit();
    let cursor = query.text("cursor").map(ToOwned::to_owned);
    let conditions = TurnConditions {
        waiting_for: waiting_for(&mut query),
        status: turn_filter(&mut query),
        agents: AgentReach::ALL.narrowed_to(agent_filter(&query)),
        user_id: query.text("userId").map(ToOwned::to_owned),
        from: query.parsed("from", TIME_IN_WORDS),
        to: query.parsed("to", TIME_IN_WORDS),
        metadata: query.prefixed(METADATA),
        rating: rating(&mut query),
        ..TurnConditions::default()
    };
    query.finish()?;
    let (turns, caller) = (&authorized.turns, authorized.caller());
    let page = turns.scan(caller, conditions, cursor.as_deref(), limit);
    Ok(reads::page(&request, page.await.map_err(named_user)?))
}

const KNOWN: [&str; 9] = [
    "waitingFor",
    "status",
    "agentId",
    "userId",
    "from",
    "to",
    "rating",
    "limit",
    "cursor",
];

/// Reads whose answer is missing.
fn waiting_for(query: &mut QueryParameters) -> Option<WaitingFor> {
    match query.text("waitingFor")? {
        "user" => Some(WaitingFor::User),
        "staff" => Some(WaitingFor::Staff),
        _ => {
            let detail = "must be 'user' or 'staff'";
            query.add_fault("waitingFor", FaultCode::UnknownValue, detail);
            None
        }
    }
}

/// The schema of the parameter `waitingFor`.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum WaitingForParameter {
    /// The user, or a page.
    User,
    /// Members of staff.
    Staff,
}
