//! Reads the log in the form that is wanted.

use actix_web::{HttpRequest, HttpResponse, http::header::ACCEPT, web::Data};

use super::{listing, page, page::EventPageBody, stream, stream::LogEvent};
use crate::{
    access::{Authorized, EventsRead},
    problem::ApiError,
    request::{PagePermit, names},
    sse::EVENT_STREAM,
    state::ApiState,
};

/// Read the event log: every change, numbered without a gap, in the order of commits.
///
/// With `Accept: text/event-stream` the answer is a stream of server-sent events: the log after
/// `since` (or after `Last-Event-ID`, which wins), and then every change as it happens. `id` is the
/// `seq`, `event` the type, `data` the event; a reconnecting client goes on where it was. When the
/// log does not reach to there, an event `resync` says so, and the stream goes on from the head. A
/// comment comes where there was silence for 15 seconds. The stream ends when the credential does.
/// Pages read it with `fetch`: `EventSource` sends no credential. What is said in a turn that runs is
/// not in the log; it is told by the stream of its chat, and on sockets.
#[utoipa::path(
    get, path = "/api/events", operation_id = "list_events", tag = "Events",
    params(
        ("since" = Option<i64>, Query, minimum = 0, description = "Events after this position. Default: the head of the log, so none that was before."),
        ("types" = Option<String>, Query, description = "Only these types, separated by commas, such as `agent.created,turn.completed`."),
        ("agentId" = Option<String>, Query, description = "Only those that concern this agent."),
        ("conversationId" = Option<String>, Query, description = "Only those that concern this conversation."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Events of a page, which also ends at about 1 MiB; a stream has no pages. Default 20. One call scans at most 10,000 events, so a filtered page may be short and still have more."),
        ("Last-Event-ID" = Option<i64>, Header, minimum = 0, description = "Of a stream: events after this position, whatever `since` says. To be sent by a client that reconnects."),
    ),
    responses(
        (status = 200, description = "A page of the log, or the log as a stream.", content(
            (EventPageBody = "application/json"), (LogEvent = "text/event-stream"),
        )),
        (status = 410, description = "The log no longer reaches back to `since`, or not yet forward to it. Of a stream: an event `resync` in its place."),
        (status = 429, description = "Too many requests, or too many open streams."),
    ),
)]
pub async fn list_events(
    authorized: Authorized<EventsRead>,
    state: Data<ApiState>,
    _permit: PagePermit,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let (listing, limit) = listing::read(&request)?;
    if names(request.headers(), ACCEPT, EVENT_STREAM) {
        return stream::answer(&authorized, &state, &request, listing).await;
    }
    let caller = authorized.caller();
    let page = authorized.events.page(caller, listing, limit).await?;
    Ok(page::answer(page))
}
