//! Reads: single things with their entity tag, and pages.

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder,
    http::header::{self, HeaderName, HeaderValue},
};
use domain::{AsOf, Page, Seq};
use serde::Serialize;
use utoipa::ToSchema;

use crate::request::etag_matches;

/// The log position of a read.
const X_EVENT_SEQ: HeaderName = HeaderName::from_static("x-event-seq");

/// For one caller, and to be asked about again each time.
const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");

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
pub fn page<T: Serialize>(
    request: &HttpRequest,
    read: AsOf<(Page<T>, Option<String>)>,
) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    response.insert_header((X_EVENT_SEQ, read.position.0));
    write_page(request, response, read.value)
}

/// Answers a page of what stands outside of the log.
pub fn page_outside_log<T: Serialize>(
    request: &HttpRequest,
    page: (Page<T>, Option<String>),
) -> HttpResponse {
    write_page(request, HttpResponse::Ok(), page)
}

fn write_page<T: Serialize>(
    request: &HttpRequest,
    mut response: HttpResponseBuilder,
    (page, next_cursor): (Page<T>, Option<String>),
) -> HttpResponse {
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

/// Answers a single thing with its entity tag, or 304 when the client has it already.
pub fn single(
    request: &HttpRequest,
    etag: String,
    seq: Seq,
    thing: &impl Serialize,
) -> HttpResponse {
    let fresh = etag_matches(request.headers(), &etag);
    let mut response = if fresh {
        HttpResponse::NotModified()
    } else {
        HttpResponse::Ok()
    };
    response
        .insert_header(position(seq))
        .insert_header((header::CACHE_CONTROL, PRIVATE))
        .insert_header((header::ETAG, etag));
    if fresh {
        return response.finish();
    }
    response.json(thing)
}

/// Answers a thing that was just written, with its new entity tag.
pub fn written(
    mut response: HttpResponseBuilder,
    etag: String,
    thing: &impl Serialize,
) -> HttpResponse {
    response
        .insert_header((header::CACHE_CONTROL, PRIVATE))
        .insert_header((header::ETAG, etag))
        .json(thing)
}
