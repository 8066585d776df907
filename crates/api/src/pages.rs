//! Pages as clients read them.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{self, HeaderName},
};
use domain::{AsOf, Page, Seq};
use serde::Serialize;
use utoipa::ToSchema;

/// The log position of a read.
pub const X_EVENT_SEQ: HeaderName = HeaderName::from_static("x-event-seq");

/// One page of a listing.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageOf<T> {
    /// The items, in the listing's order.
    pub data: Vec<T>,
    /// What to send as `cursor` for the next page; null on the last one.
    pub next_cursor: Option<String>,
    /// Whether more follow.
    pub has_more: bool,
}

/// Answers a page, with the link to the next one.
pub fn answer<T: Serialize>(
    request: &HttpRequest,
    read: AsOf<(Page<T>, Option<String>)>,
) -> HttpResponse {
    let (page, next_cursor) = read.value;
    let mut response = HttpResponse::Ok();
    response.insert_header((X_EVENT_SEQ, read.position.0));
    if let Some(cursor) = &next_cursor {
        response.insert_header((header::LINK, next_link(request, cursor)));
    }
    response.json(PageOf {
        data: page.items,
        next_cursor,
        has_more: page.has_more,
    })
}

/// The same request with another cursor (RFC 8288).
fn next_link(request: &HttpRequest, cursor: &str) -> String {
    let kept = request
        .query_string()
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.starts_with("cursor="));
    let query: Vec<&str> = kept.collect();
    let separator = if query.is_empty() { "" } else { "&" };
    format!(
        "<{}?{}{separator}cursor={cursor}>; rel=\"next\"",
        request.path(),
        query.join("&")
    )
}

/// The position as a header.
pub fn position(seq: Seq) -> (HeaderName, i64) {
    (X_EVENT_SEQ, seq.0)
}
