//! The position after which a client reads the event log.

use actix_web::{HttpRequest, http::header::HeaderName};
use domain::Seq;

use crate::{
    problem::ApiError,
    request::{QueryParameters, unsigned},
};

/// The position of the last event that a client has received.
/// The header with the id of the last event that a client has received.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Returns the position after which a request reads the log; `None` also if it is malformed.
pub fn requested_position(request: &HttpRequest) -> Option<Seq> {
    let since = || {
        let mut query = QueryParameters::read(request, &[]);
        query.parsed::<i64>("since", "").map(Seq)
    };
    last_event_id(request).ok().flatten().or_else(since)
}

/// Returns the position after which a client that reconnects continues.
pub fn last_event_id(request: &HttpRequest) -> Result<Option<Seq>, ApiError> {
    let mut values = request.headers().get_all(LAST_EVENT_ID);
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let text = value.to_str().ok().and_then(unsigned);
    let seq = text.and_then(|text| text.parse().ok());
    match seq {
        Some(seq) if seq >= 0 && values.next().is_none() => Ok(Some(Seq(seq))),
        _ => Err(ApiError::header(
            "Last-Event-ID",
            "must be the id of the last received event: a whole number, at least 0",
        )),
    }
}
