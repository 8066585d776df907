//! One page of the log.

use actix_web::HttpResponse;
use domain::{Event, Seq};
use ports::EventPage;
use serde::Serialize;
use utoipa::ToSchema;

use crate::reads;

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

/// Answers one page.
pub(super) fn answer(page: EventPage) -> HttpResponse {
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
