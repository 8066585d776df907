//! The published documents: OpenAPI, AsyncAPI, Swagger UI and the start page.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header,
    middleware::from_fn,
    web::{self, Bytes, Data, ServiceConfig},
};
use kit::{layers::resource_in, reads::PUBLIC, state::HttpState};
use serde_json::Value;

use crate::{DocumentState, html::start_page, openapi, static_content::StaticContent};

/// The documents, serialized once.
pub struct Documents {
    openapi: StaticContent,
    asyncapi: StaticContent,
}

impl Documents {
    /// Serializes the complete documents.
    pub fn new(openapi: &Value, asyncapi: &Value) -> Self {
        let content = |document: &Value| {
            let text = serde_json::to_vec(document).unwrap_or_default();
            StaticContent::new(Bytes::from(text), "application/json", PUBLIC)
        };
        Self {
            openapi: content(openapi),
            asyncapi: content(asyncapi),
        }
    }
}

/// Read this document: OpenAPI 3.1, generated from the code.
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "get_openapi", tag = "Operation",
    responses(
        (status = 200, description = "The document, compressed with gzip if the client accepts it.", body = serde_json::Value),
        (status = 304, description = "The document has not changed since `If-None-Match`."),
    ),
)]
pub async fn get_openapi(state: Data<DocumentState>, request: HttpRequest) -> HttpResponse {
    state.documents.openapi.respond(&request)
}

/// Read the description of sockets and streams: AsyncAPI 3, generated from the code.
#[utoipa::path(
    get, path = "/asyncapi.json", operation_id = "get_asyncapi", tag = "Operation",
    responses(
        (status = 200, description = "The document, compressed with gzip if the client accepts it.", body = serde_json::Value),
        (status = 304, description = "The document has not changed since `If-None-Match`."),
    ),
)]
pub async fn get_asyncapi(state: Data<DocumentState>, request: HttpRequest) -> HttpResponse {
    state.documents.asyncapi.respond(&request)
}

/// The links of the start page after the console: paths, names, and what they are for.
const LINKS: [(&str, &str, &str); 5] = [
    ("/docs/", "API reference", "Read and try each operation."),
    (
        "/openapi.json",
        "OpenAPI document",
        "REST and server-sent events, for programs.",
    ),
    (
        "/asyncapi.json",
        "AsyncAPI document",
        "Sockets and streams, for programs.",
    ),
    (
        "/problems",
        "Problems",
        "What each error means, and what to do.",
    ),
    (
        "/readyz",
        "Readiness",
        "Whether the server is ready, and why not.",
    ),
];

/// The start page, with links to the documents.
#[utoipa::path(
    get, path = "/", operation_id = "get_console", tag = "Operation",
    responses((status = 200, description = "A page.", body = String, content_type = "text/html")),
)]
pub async fn get_console(http: Data<HttpState>, state: Data<DocumentState>) -> HttpResponse {
    let base = &http.site.base_path;
    let console = state.console.as_ref().map(|_| {
        (
            "/console",
            "Console",
            "Create agents, chat, and follow what happens.",
        )
    });
    let links: Vec<String> = console
        .iter()
        .chain(&LINKS)
        .map(|(path, name, text)| {
            format!("<li class=\"pair\"><a href=\"{base}{path}\">{name}</a><p class=\"muted\">{text}</p></li>")
        })
        .collect();
    let clients: Vec<String> = http
        .operations
        .protocols()
        .map(|it| {
            format!(
                "<li class=\"pair\">{}<p><code>{base}{}</code></p></li>",
                it.clients, it.base_path
            )
        })
        .collect();
    let mut body = format!(
        "<p>With this server, applications create AI agents and chat with them, over REST, \
         server-sent events and WebSockets.</p><ul class=\"list\">{}</ul>",
        links.concat()
    );
    if !clients.is_empty() {
        body.push_str("<h2>URLs for clients of other products</h2><ul class=\"list\">");
        body.push_str(&clients.concat());
        body.push_str("</ul>");
    }
    start_page(&body)
}

/// Registers the pages of `/docs`.
pub fn configure_docs(config: &mut ServiceConfig) {
    config
        .service(resource_in("", "/docs").route(web::get().to(redirect_to_docs)))
        .service(
            web::scope("/docs")
                .wrap(from_fn(openapi::swagger_headers))
                .service(openapi::swagger_page())
                .service(openapi::swagger_ui()),
        );
}

/// Redirects to the page with the trailing slash, because its resources have relative paths.
async fn redirect_to_docs() -> HttpResponse {
    HttpResponse::PermanentRedirect()
        .insert_header((header::LOCATION, "/docs/"))
        .finish()
}
