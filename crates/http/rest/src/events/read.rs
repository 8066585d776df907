//! `GET /api/events`.

use actix_web::{HttpRequest, HttpResponse, http::header::ACCEPT, web::Data};
use kit::{
    auth::{Authorized, EventsRead},
    problem::ApiError,
    request::{PagePermit, lists},
    sse::EVENT_STREAM,
    state::HttpState,
};

use super::{listing, page, page::EventPageBody, stream, stream::LogEvent};

/// Read the event log: every change, numbered without gaps, in the order of commits.
///
/// With `Accept: text/event-stream` the response is a stream of server-sent events: first the log
/// after `since` (or after `Last-Event-ID`, which takes precedence), then every change when it
/// happens. `id` is the `seq`, `event` is the type, and `data` is the event. A client that
/// reconnects continues after the last event that it received. If the log no longer contains the
/// events after that position, the stream sends an event `resync` and continues from the head of
/// the log. After 15 seconds without an event the stream sends a comment. The stream ends when the
/// credential expires or is revoked. Pages must read the stream with `fetch`, because `EventSource`
/// sends no credentials. The log does not contain the text of running turns; the stream of the chat
/// and sockets send it.
#[utoipa::path(
    get, path = "/api/events", operation_id = "list_events", tag = "Events",
    params(
        ("since" = Option<i64>, Query, minimum = 0, description = "Only events after this position. Default: the head of the log, so only events that are still to come."),
        ("types" = Option<String>, Query, description = "Only these types, separated by commas, such as `agent.created,turn.completed`."),
        ("agentId" = Option<String>, Query, description = "Only events about this agent."),
        ("conversationId" = Option<String>, Query, description = "Only events about this conversation."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Maximum number of events in the page. A page also ends at about 1 MiB. Default 20. One request scans at most 10,000 events, so a filtered page can be short although more events follow. Ignored for a stream."),
        ("Last-Event-ID" = Option<i64>, Header, minimum = 0, description = "For a stream: only events after this position; takes precedence over `since`. Clients send it when they reconnect."),
    ),
    responses(
        (status = 200, description = "A page of the log, or the log as a stream.", content(
            (EventPageBody = "application/json"), (LogEvent = "text/event-stream"),
        )),
        (status = 410, description = "The events after `since` have been removed from the log, or `since` is after its head. A stream sends an event `resync` instead."),
        (status = 429, description = "Too many requests, or too many open streams."),
    ),
)]
pub async fn list_events(
    authorized: Authorized<EventsRead>,
    state: Data<HttpState>,
    _permit: PagePermit,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let (listing, limit) = listing::read(&request)?;
    if lists(request.headers(), ACCEPT, EVENT_STREAM) {
        return stream::respond(&authorized, &state, &request, listing).await;
    }
    let caller = authorized.caller();
    let page = authorized.events.page(caller, listing, limit).await?;
    Ok(page::respond(page))
}
