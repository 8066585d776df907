//! The console under `/console`: the built files of `clients/console`, embedded in the binary.

use std::collections::BTreeMap;

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{self, HeaderName, HeaderValue},
    web::{self, Bytes, Data, Path, ServiceConfig},
};
use domain::ProblemCode;
use kit::{layers::resource_in, problem::ApiError, reads::PUBLIC};

use crate::{DocumentState, static_content::StaticContent};

#[rustfmt::skip]
#[path = "../console/files.rs"]
mod files;

/// The page of the console.
const INDEX: &str = "index.html";
/// The folder of the files whose names contain a digest of their content.
const ASSETS: &str = "assets/";
/// The element of the page that contains the path of the console.
const BASE: &str = "<base href=\"/console/\"";

/// Only the console's own files, and requests to this service; images also from the memory of the page, which
/// shows files before they are sent.
const POLICY: (HeaderName, HeaderValue) = (
    header::CONTENT_SECURITY_POLICY,
    HeaderValue::from_static(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
         connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'",
    ),
);
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");

/// The files of the console, by their paths.
pub struct Console(BTreeMap<&'static str, StaticContent>);

impl Console {
    /// Prepares the files for a console under `base_path`, the path of the public URL.
    pub fn new(base_path: &str) -> Self {
        let prepare = |(path, content): &(&'static str, &'static [u8])| {
            let content = Bytes::from_static(content);
            let content = page_at(base_path, path, content);
            (
                *path,
                StaticContent::new(content, content_type(path), caching(path)),
            )
        };
        Self(files::FILES.iter().map(prepare).collect())
    }

    /// Returns the file at a path below `/console`. Other paths than those of assets are pages,
    /// which the console itself shows.
    fn find(&self, path: &str) -> Option<&StaticContent> {
        let found = self.0.get(path);
        if path.starts_with(ASSETS) {
            return found;
        }
        found.or_else(|| self.0.get(INDEX))
    }
}

/// Returns the content of a file, in which the page has the path of the public URL.
fn page_at(base_path: &str, path: &str, content: Bytes) -> Bytes {
    if path != INDEX || base_path.is_empty() {
        return content;
    }
    let page = String::from_utf8_lossy(&content);
    let base = format!("<base href=\"{base_path}/console/\"");
    Bytes::from(page.replacen(BASE, &base, 1))
}

fn caching(path: &str) -> HeaderValue {
    match path {
        INDEX => NO_CACHE,
        asset if asset.starts_with(ASSETS) => IMMUTABLE,
        _ => PUBLIC,
    }
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

/// Registers the console. All paths below it are pages of its own, except those of its files.
pub fn configure_console(config: &mut ServiceConfig) {
    config
        .service(resource_in("", "/console").route(web::get().to(get_page)))
        .service(resource_in("", "/console/{path:.*}").route(web::get().to(get_file)));
}

/// Returns the page.
async fn get_page(
    state: Data<DocumentState>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    respond(&state, &request, INDEX)
}

/// Returns a file, or the page at the path of one of its parts.
async fn get_file(
    state: Data<DocumentState>,
    request: HttpRequest,
    path: Path<String>,
) -> Result<HttpResponse, ApiError> {
    respond(&state, &request, &path)
}

fn respond(
    state: &DocumentState,
    request: &HttpRequest,
    path: &str,
) -> Result<HttpResponse, ApiError> {
    let console = state.console.as_ref();
    let file = console.and_then(|console| console.find(path));
    let file = file.ok_or(ApiError::new(ProblemCode::RouteNotFound))?;
    let mut response = file.respond(request);
    response.headers_mut().insert(POLICY.0, POLICY.1);
    Ok(response)
}
