//! HTML pages.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{self, HeaderName, HeaderValue},
};

use crate::{documents::PUBLIC, request::accepts};

/// The policy of HTML pages: they run no scripts and load nothing.
const PAGE_POLICY: (HeaderName, HeaderValue) = (
    header::CONTENT_SECURITY_POLICY,
    HeaderValue::from_static(
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
    ),
);

/// Returns true if the client prefers HTML: browsers name it in `Accept`, programs do not.
pub(crate) fn prefers_html(request: &HttpRequest) -> bool {
    let accept = request
        .headers()
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
        && accepts(request.headers(), "text/html")
}

/// Creates an HTML page. It contains only texts of the service and no part of the request.
pub(crate) fn page(title: &str, body: &str) -> HttpResponse {
    let html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <style>body{{font:1rem/1.5 system-ui,sans-serif;max-width:42rem;margin:2rem auto;\
         padding:0 1rem}}</style><h1>{title}</h1>{body}</html>"
    );
    HttpResponse::Ok()
        .content_type("text/html; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, PUBLIC))
        .insert_header((header::VARY, "Accept"))
        .insert_header(PAGE_POLICY)
        .body(html)
}
