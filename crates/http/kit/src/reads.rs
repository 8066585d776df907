//! Responses to reads: single resources with their entity tag, and pages.

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder,
    http::header::{self, HeaderName, HeaderValue},
};
use domain::{AsOf, Page, Seq};
use serde::Serialize;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::request::etag_matches;

/// The log position of a read.
const X_EVENT_SEQ: HeaderName = HeaderName::from_static("x-event-seq");

/// Public documents.
pub const PUBLIC: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// Private to one caller, and revalidated for each use.
const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");

/// One page of a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageOf<T> {
    /// The items, in the order of the list.
    pub data: Vec<T>,
    /// The value of `cursor` for the next page; null on the last page.
    pub next_cursor: Option<String>,
    /// True if more items follow.
    pub has_more: bool,
}

impl<T> PageOf<T> {
    fn new(page: Page<T>, next_cursor: Option<String>) -> Self {
        Self {
            data: page.items,
            next_cursor,
            has_more: page.has_more,
        }
    }
}

/// Returns the response with a page and a link to the next one.
pub fn page<T: Serialize>(
    request: &HttpRequest,
    read: AsOf<(Page<T>, Option<String>)>,
) -> HttpResponse {
    let (page, next_cursor) = read.value;
    let mut response = page_head(request, read.position, next_cursor.as_deref());
    response.json(PageOf::new(page, next_cursor))
}

/// Returns the head of a response with a page.
pub fn page_head(
    request: &HttpRequest,
    position: Seq,
    next_cursor: Option<&str>,
) -> HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    response.insert_header((X_EVENT_SEQ, position.0));
    link_next(request, &mut response, next_cursor);
    response
}

/// Returns the response with a page of resources that are not in the event log.
pub fn page_outside_log<T: Serialize>(
    request: &HttpRequest,
    (page, next_cursor): (Page<T>, Option<String>),
) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    link_next(request, &mut response, next_cursor.as_deref());
    response.json(PageOf::new(page, next_cursor))
}

fn link_next(request: &HttpRequest, response: &mut HttpResponseBuilder, cursor: Option<&str>) {
    if let Some(cursor) = cursor {
        response.insert_header((header::LINK, next_link(request, cursor)));
    }
}

/// Returns the link to the next page: the same request with another cursor (RFC 8288).
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

/// Returns the log position as a header.
pub fn position(seq: Seq) -> (HeaderName, i64) {
    (X_EVENT_SEQ, seq.0)
}

/// Returns the digest of a response for its entity tag.
pub fn digest(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    let start = u64::from_be_bytes(digest[..8].try_into().unwrap_or_default());
    format!("{start:016x}")
}

/// Returns the response with a resource and its entity tag, or 304 if the client has this version.
pub fn single(
    request: &HttpRequest,
    etag: String,
    seq: Seq,
    resource: &impl Serialize,
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
    response.json(resource)
}

/// Returns the response with a resource that was just written, and its new entity tag.
pub fn written(
    mut response: HttpResponseBuilder,
    etag: String,
    resource: &impl Serialize,
) -> HttpResponse {
    response
        .insert_header((header::CACHE_CONTROL, PRIVATE))
        .insert_header((header::ETAG, etag))
        .json(resource)
}
