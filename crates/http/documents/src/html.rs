//! HTML pages.

use std::sync::LazyLock;

use actix_web::{HttpRequest, HttpResponse, http::header};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use kit::{reads::PUBLIC, request::accepts};
use sha2::{Digest, Sha256};

/// The style of the pages, in the colours of the console.
const STYLE: &str = include_str!("page.css");
/// The sign of the product, which is also the icon of the console.
const SIGN: &str = include_str!("../console/icon.svg");

/// The policy of HTML pages: they run no scripts, load nothing and have no style but [`STYLE`].
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let digest = STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    )
});

/// Returns true if the client prefers HTML: browsers name it in `Accept`, programs do not.
pub(crate) fn prefers_html(request: &HttpRequest) -> bool {
    let accept = request
        .headers()
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
        && accepts(request.headers(), "text/html")
}

/// The link to the start page, at the top of other pages. `base` is the path of the public URL.
pub(crate) fn home_link(base: &str) -> String {
    format!("<a class=\"brand\" href=\"{base}/\">{SIGN}Agent Service</a>")
}

/// Creates the start page.
pub(crate) fn start_page(body: &str) -> HttpResponse {
    let title = "Agent Service";
    respond(title, &format!("<h1>{SIGN}{title}</h1>{body}"))
}

/// Creates a page with links above its title.
pub(crate) fn page(links: &str, title: &str, body: &str) -> HttpResponse {
    let heading = marked_up(title);
    respond(
        title,
        &format!("<nav>{links}</nav><h1>{heading}</h1>{body}"),
    )
}

/// Returns a text as HTML, with its names between backticks as code.
pub(crate) fn marked_up(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let marked = parts.map(|(index, part)| {
        if index % 2 == 0 {
            part.to_owned()
        } else {
            format!("<code>{part}</code>")
        }
    });
    marked.collect()
}

/// Responds with a page. It contains only texts of the service and no part of the request.
fn respond(title: &str, content: &str) -> HttpResponse {
    let html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <style>{STYLE}</style><main>{content}</main></html>"
    );
    HttpResponse::Ok()
        .content_type("text/html; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, PUBLIC))
        .insert_header((header::VARY, "Accept"))
        .insert_header((header::CONTENT_SECURITY_POLICY, POLICY.as_str()))
        .body(html)
}
