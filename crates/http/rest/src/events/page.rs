//! One page of the event log.

use actix_web::HttpResponse;
use domain::{Event, Seq};
use kit::reads;
use ports::EventPage;
use serde::Serialize;
use utoipa::ToSchema;

/// One page of the event log.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventPageBody {
    /// The events, in order of `seq`.
    data: Vec<Event>,
    /// The value of `since` for the next page.
    next_since: Seq,
    /// The `seq` of the oldest event in the log.
    first_seq: Seq,
    /// The `seq` of the newest event in the log.
    head_seq: Seq,
    /// True if the log has events after `nextSince`.
    has_more: bool,
}

/// Returns the response with one page.
pub(super) fn respond(page: EventPage) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header(reads::position(page.head))
        .json(EventPageBody {
            has_more: page.next_since < page.head,
            data: page.events.into_iter().map(|logged| logged.event).collect(),
            next_since: page.next_since,
            first_seq: page.first,
            head_seq: page.head,
        })
}
