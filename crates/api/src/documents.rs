//! The published documents: OpenAPI, AsyncAPI, Swagger UI and the start page.

use std::convert::Infallible;

use actix_web::{
    HttpRequest, HttpResponse,
    body::{MessageBody, SizedStream},
    http::header::{self, HeaderValue},
    web::{Bytes, Data},
};
use futures::stream;
use serde_json::Value;

use crate::{html::page, operations::PROTOCOLS, reads, request::etag_matches, state::ApiState};

/// The caching of public documents.
pub const PUBLIC: HeaderValue = HeaderValue::from_static("public, max-age=300");
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
        Self {
            etag: format!("\"{}\"", reads::digest(&text)),
            text: Bytes::from(text),
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
        response
            .content_type("application/json")
            .body(in_parts(&self.text))
    }
}

/// Returns a body that is sent in parts.
pub fn in_parts(text: &Bytes) -> impl MessageBody + use<> {
    let (text, bytes) = (text.clone(), text.len() as u64);
    let parts = (0..text.len()).step_by(PART_BYTES).map(move |start| {
        let end = text.len().min(start + PART_BYTES);
        Ok::<_, Infallible>(text.slice(start..end))
    });
    SizedStream::new(bytes, stream::iter(parts))
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

/// The start page, with links to the documents.
#[utoipa::path(
    get, path = "/", operation_id = "get_console", tag = "Operation",
    responses((status = 200, description = "A page.", body = String, content_type = "text/html")),
)]
pub async fn get_console(state: Data<ApiState>) -> HttpResponse {
    let base = &state.base_path;
    let clients: Vec<String> = PROTOCOLS
        .iter()
        .filter(|protocol| state.protocols.contains(protocol.name))
        .map(|it| {
            format!(
                "<li>{}: <code>{base}{}</code></li>",
                it.clients, it.base_path
            )
        })
        .collect();
    let console = if state.console.is_some() {
        format!("<li><a href=\"{base}/console\">Console</a></li>")
    } else {
        String::new()
    };
    let body = format!(
        "<p>With this server, applications create AI agents and chat with them, over REST, \
         server-sent events and WebSockets.</p><ul>{console}\
         <li><a href=\"{base}/docs/\">Try the interface</a></li>\
         <li><a href=\"{base}/openapi.json\">OpenAPI document</a></li>\
         <li><a href=\"{base}/asyncapi.json\">AsyncAPI document</a></li>\
         <li><a href=\"{base}/problems\">What each problem means</a></li>\
         <li><a href=\"{base}/readyz\">Is it ready?</a></li></ul>\
         <p>URLs for clients of other products:</p><ul>{}</ul>",
        clients.concat()
    );
    page("Agent Service", &body)
}

/// Redirects to the page with the trailing slash, because its resources have relative paths.
pub async fn redirect_to_docs() -> HttpResponse {
    HttpResponse::PermanentRedirect()
        .insert_header((header::LOCATION, "/docs/"))
        .finish()
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
