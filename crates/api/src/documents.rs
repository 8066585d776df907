//! The published documents: OpenAPI, AsyncAPI, Swagger UI, the error catalogue, the console page.

use std::convert::Infallible;

use actix_web::{
    HttpRequest, HttpResponse,
    body::SizedStream,
    http::header::{self, HeaderName, HeaderValue},
    web::{Bytes, Data},
};
use domain::ProblemCode;
use futures::stream;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::{
    problem::ApiError,
    request::{accepts, etag_matches},
    state::ApiState,
};

/// The caching of public documents.
pub const PUBLIC: HeaderValue = HeaderValue::from_static("public, max-age=300");
/// The policy of HTML pages: they run no scripts and load nothing.
const PAGE_POLICY: (HeaderName, HeaderValue) = (
    header::CONTENT_SECURITY_POLICY,
    HeaderValue::from_static(
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
    ),
);

/// The size in bytes of the parts in which a document is sent, because a connection buffers what
/// its client does not read.
const PART_BYTES: usize = 32 * 1024;

/// The documents, serialized once.
pub struct Documents {
    openapi: Document,
    asyncapi: Document,
}

impl Documents {
    /// Serializes the complete documents.
    pub fn new(openapi: &Value, asyncapi: &Value) -> Self {
        Self {
            openapi: Document::new(openapi),
            asyncapi: Document::new(asyncapi),
        }
    }
}

/// A document with its entity tag.
struct Document {
    text: Bytes,
    etag: String,
}

impl Document {
    fn new(document: &Value) -> Self {
        let text = serde_json::to_vec(document).unwrap_or_default();
        let digest = Sha256::digest(&text);
        let tag = u64::from_be_bytes(digest[..8].try_into().unwrap_or_default());
        Self {
            text: Bytes::from(text),
            etag: format!("\"{tag:016x}\""),
        }
    }

    fn respond(&self, request: &HttpRequest) -> HttpResponse {
        let fresh = etag_matches(request.headers(), &self.etag);
        let mut response = if fresh {
            HttpResponse::NotModified()
        } else {
            HttpResponse::Ok()
        };
        response
            .insert_header((header::ETAG, self.etag.as_str()))
            .insert_header((header::CACHE_CONTROL, PUBLIC));
        if fresh {
            return response.finish();
        }
        let text = self.text.clone();
        let parts = (0..text.len()).step_by(PART_BYTES).map(move |start| {
            let end = text.len().min(start + PART_BYTES);
            Ok::<_, Infallible>(text.slice(start..end))
        });
        let bytes = self.text.len() as u64;
        response
            .content_type("application/json")
            .body(SizedStream::new(bytes, stream::iter(parts)))
    }
}

/// Read this document: OpenAPI 3.1, generated from the code.
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "get_openapi", tag = "Operation",
    responses(
        (status = 200, description = "The document.", body = serde_json::Value),
        (status = 304, description = "The document has not changed since `If-None-Match`."),
    ),
)]
pub async fn get_openapi(state: Data<ApiState>, request: HttpRequest) -> HttpResponse {
    state.documents.openapi.respond(&request)
}

/// Read the description of sockets and streams: AsyncAPI 3, generated from the code.
#[utoipa::path(
    get, path = "/asyncapi.json", operation_id = "get_asyncapi", tag = "Operation",
    responses(
        (status = 200, description = "The document.", body = serde_json::Value),
        (status = 304, description = "The document has not changed since `If-None-Match`."),
    ),
)]
pub async fn get_asyncapi(state: Data<ApiState>, request: HttpRequest) -> HttpResponse {
    state.documents.asyncapi.respond(&request)
}

/// One entry of the error catalogue.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProblemEntry {
    /// The code.
    code: ProblemCode,
    /// The HTTP status.
    status: u16,
    /// The meaning of the code.
    title: &'static str,
    /// The action to take.
    remedy: &'static str,
    /// True if the same request can succeed later.
    retryable: bool,
}

impl From<ProblemCode> for ProblemEntry {
    fn from(code: ProblemCode) -> Self {
        Self {
            code,
            status: code.status(),
            title: code.title(),
            remedy: code.remedy(),
            retryable: code.is_retryable(),
        }
    }
}

/// The whole error catalogue.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProblemCatalogue {
    /// All codes that the server returns.
    data: Vec<ProblemEntry>,
}

/// List all problems that this server returns.
#[utoipa::path(
    get, path = "/problems", operation_id = "list_problems", tag = "Operation",
    responses((status = 200, description = "The error catalogue.", content(
        (ProblemCatalogue = "application/json"), (String = "text/html"),
    ))),
)]
pub async fn list_problems(request: HttpRequest) -> HttpResponse {
    let entries = ProblemCode::ALL.iter().copied().map(ProblemEntry::from);
    if prefers_html(&request) {
        let rows: String = entries.map(|entry| section(&entry)).collect();
        return page("Problems", &rows);
    }
    HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, PUBLIC))
        .insert_header((header::VARY, "Accept"))
        .json(ProblemCatalogue {
            data: entries.collect(),
        })
}

/// Read the meaning of a problem code, and the action to take.
#[utoipa::path(
    get, path = "/problems/{code}", operation_id = "get_problem", tag = "Operation",
    params(("code" = ProblemCode, Path, description = "The problem's code.")),
    responses((status = 200, description = "The meaning of the code, and the action to take.", content(
        (ProblemEntry = "application/json"), (String = "text/html"),
    ))),
)]
pub async fn get_problem(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let slug = request.match_info().query("code");
    let code = ProblemCode::ALL
        .iter()
        .copied()
        .find(|code| code.slug() == slug);
    let entry = ProblemEntry::from(code.ok_or(ProblemCode::RouteNotFound)?);
    if prefers_html(&request) {
        return Ok(page(entry.title, &section(&entry)));
    }
    Ok(HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, PUBLIC))
        .insert_header((header::VARY, "Accept"))
        .json(entry))
}

/// The start page, with links to the documents.
#[utoipa::path(
    get, path = "/", operation_id = "get_console", tag = "Operation",
    responses((status = 200, description = "A page.", body = String, content_type = "text/html")),
)]
pub async fn get_console(state: Data<ApiState>) -> HttpResponse {
    let base = &state.base_path;
    let body = format!(
        "<p>With this server, applications create AI agents and chat with them, over REST, \
         server-sent events and WebSockets.</p><ul>\
         <li><a href=\"{base}/docs/\">Try the interface</a></li>\
         <li><a href=\"{base}/openapi.json\">OpenAPI document</a></li>\
         <li><a href=\"{base}/asyncapi.json\">AsyncAPI document</a></li>\
         <li><a href=\"{base}/problems\">What each problem means</a></li>\
         <li><a href=\"{base}/readyz\">Is it ready?</a></li></ul>"
    );
    page("Agent Service", &body)
}

/// Redirects to the page with the trailing slash, because its resources have relative paths.
pub async fn redirect_to_docs() -> HttpResponse {
    HttpResponse::PermanentRedirect()
        .insert_header((header::LOCATION, "/docs/"))
        .finish()
}

/// Returns true if the client prefers HTML: browsers name it in `Accept`, programs do not.
fn prefers_html(request: &HttpRequest) -> bool {
    let accept = request
        .headers()
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
        && accepts(request.headers(), "text/html")
}

fn section(entry: &ProblemEntry) -> String {
    let code = entry.code.slug();
    let again = if entry.retryable {
        "The same request can succeed later."
    } else {
        ""
    };
    format!(
        "<section id=\"{code}\"><h2><code>{code}</code> · {}</h2><p>{}</p><p>{} {again}</p></section>",
        entry.status, entry.title, entry.remedy
    )
}

/// Creates an HTML page. It contains only texts of the service and no part of the request.
fn page(title: &str, body: &str) -> HttpResponse {
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

#[cfg(test)]
mod tests {
    use actix_web::{
        body::{BodySize, MessageBody as _},
        test::TestRequest,
    };
    use futures::StreamExt as _;

    use super::*;

    #[actix_web::test]
    async fn a_document_is_sent_completely_in_small_parts() {
        let text = "long ".repeat(50_000);
        let document = Document::new(&Value::from(text));
        let body = document
            .respond(&TestRequest::default().to_http_request())
            .into_body();
        assert_eq!(body.size(), BodySize::Sized(document.text.len() as u64));
        let mut body = std::pin::pin!(body);
        let parts = stream::poll_fn(|context| body.as_mut().poll_next(context));
        let parts: Vec<Bytes> = parts
            .map(|part| part.expect("it is in memory"))
            .collect()
            .await;
        assert!(parts.iter().all(|part| part.len() <= PART_BYTES));
        assert_eq!(parts.concat(), document.text);
    }
}
