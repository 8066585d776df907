//! `GET /api/events`.

use actix_web::{HttpRequest, HttpResponse};
use application::events::EventListing;
use domain::{AgentId, ConversationId, Event, EventType, FaultCode, Seq};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    access::{Authorized, EventsRead},
    problem::ApiError,
    reads,
    request::QueryParameters,
};

/// One page of the log.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventPageBody {
    /// The events, by `seq`.
    data: Vec<Event>,
    /// What to send as `since` for the next page.
    next_since: Seq,
    /// The oldest event still there.
    first_seq: Seq,
    /// The newest event.
    head_seq: Seq,
    /// Whether the log goes on behind `nextSince`.
    has_more: bool,
}

/// Read the event log: every change, numbered without a gap, in the order of commits.
#[utoipa::path(
    get, path = "/api/events", operation_id = "list_events", tag = "Events",
    params(
        ("since" = Option<i64>, Query, minimum = 0, description = "Events after this position. Default: the head of the log, so none."),
        ("types" = Option<String>, Query, example = "agent.created,turn.completed", description = "Only these types, separated by commas."),
        ("agentId" = Option<String>, Query, description = "Only those that concern this agent."),
        ("conversationId" = Option<String>, Query, description = "Only those that concern this conversation."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Events of a page. Default 20. One call scans at most 10,000 events, so a filtered page may be short and still have more."),
    ),
    responses(
        (status = 200, description = "A page of the log.", body = EventPageBody),
        (status = 410, description = "The log no longer reaches back to `since`, or not yet forward to it."),
    ),
)]
pub async fn list_events(
    authorized: Authorized<EventsRead>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let known = ["since", "types", "agentId", "conversationId", "limit"];
    let mut query = QueryParameters::read(&request, &known);
    let limit = query.limit();
    let since = query.parsed::<i64>("since", "a whole number");
    if since.is_some_and(|since| since < 0) {
        query.refuse("since", FaultCode::TooSmall, "at least 0");
    }
    let types = event_types(&mut query);
    let nobody = uuid::Uuid::nil();
    let agent_id = query
        .text("agentId")
        .map(|id| id.parse().unwrap_or(AgentId::new(nobody)));
    let conversation_id = query
        .text("conversationId")
        .map(|id| id.parse().unwrap_or(ConversationId::new(nobody)));
    query.finish()?;
    let listing = EventListing {
        since: since.map(Seq),
        types,
        agent_id,
        conversation_id,
    };
    let page = authorized
        .events
        .page(authorized.caller(), listing, limit)
        .await?;
    Ok(HttpResponse::Ok()
        .insert_header(reads::position(page.head))
        .json(EventPageBody {
            has_more: page.next_since < page.head,
            data: page.events.into_iter().map(|logged| logged.event).collect(),
            next_since: page.next_since,
            first_seq: page.first,
            head_seq: page.head,
        }))
}

fn event_types(query: &mut QueryParameters) -> Vec<EventType> {
    let Some(text) = query.text("types") else {
        return Vec::new();
    };
    let types: Option<Vec<EventType>> = text.split(',').map(EventType::parse).collect();
    types.unwrap_or_else(|| {
        query.refuse(
            "types",
            FaultCode::UnknownValue,
            "event types separated by commas",
        );
        Vec::new()
    })
}
