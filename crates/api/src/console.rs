//! The console under `/console`: the built files of `clients/console`, embedded in the binary.

use std::{collections::BTreeMap, io::Write as _, sync::OnceLock};

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{
        self, AcceptEncoding, ContentEncoding, Encoding, Header as _, HeaderName, HeaderValue,
    },
    web::{Bytes, Data, Path},
};
use domain::ProblemCode;
use flate2::{Compression, write::GzEncoder};

use crate::{
    documents::{PUBLIC, in_parts},
    problem::ApiError,
    reads,
    request::etag_matches,
    state::ApiState,
};

#[rustfmt::skip]
#[path = "../console/files.rs"]
mod files;

/// The page of the console.
const INDEX: &str = "index.html";
/// The folder of the files whose names contain a digest of their content.
const ASSETS: &str = "assets/";
/// The element of the page that contains the path of the console.
const BASE: &str = "<base href=\"/console/\"";

/// Only the console's own files, and requests to this service.
const POLICY: (HeaderName, HeaderValue) = (
    header::CONTENT_SECURITY_POLICY,
    HeaderValue::from_static(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
         connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'",
    ),
);
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");

/// The files of the console, by their paths.
pub struct Console(BTreeMap<&'static str, File>);

impl Console {
    /// Prepares the files for a console under `base_path`, the path of the public URL.
    pub fn new(base_path: &str) -> Self {
        let prepare = |(path, content): &(&'static str, &'static [u8])| {
            let content = Bytes::from_static(content);
            (*path, File::new(path, page_at(base_path, path, content)))
        };
        Self(files::FILES.iter().map(prepare).collect())
    }

    /// Returns the file at a path below `/console`. Other paths than those of assets are pages,
    /// which the console itself shows.
    fn find(&self, path: &str) -> Option<&File> {
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

/// A file.
struct File {
    content: Bytes,
    /// The compressed content, from the first request that accepts it.
    gzip: OnceLock<Bytes>,
    etag: String,
    content_type: &'static str,
    caching: HeaderValue,
}

impl File {
    fn new(path: &str, content: Bytes) -> Self {
        let caching = match path {
            INDEX => NO_CACHE,
            asset if asset.starts_with(ASSETS) => IMMUTABLE,
            _ => PUBLIC,
        };
        Self {
            gzip: OnceLock::new(),
            etag: format!("\"{}\"", reads::digest(&content)),
            content_type: content_type(path),
            caching,
            content,
        }
    }

    fn respond(&self, request: &HttpRequest) -> HttpResponse {
        let is_fresh = etag_matches(request.headers(), &self.etag);
        let mut response = if is_fresh {
            HttpResponse::NotModified()
        } else {
            HttpResponse::Ok()
        };
        response
            .insert_header((header::ETAG, self.etag.as_str()))
            .insert_header((header::CACHE_CONTROL, self.caching.clone()))
            .insert_header((header::VARY, "Accept-Encoding"))
            .insert_header(POLICY);
        if is_fresh {
            return response.finish();
        }
        response.content_type(self.content_type);
        if accepts_gzip(request) {
            response.insert_header(ContentEncoding::Gzip);
            let gzip = self.gzip.get_or_init(|| compress(&self.content));
            return response.body(in_parts(gzip));
        }
        response.body(in_parts(&self.content))
    }
}

fn compress(content: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing into memory does not fail.
    let written = encoder.write_all(content).and_then(|()| encoder.finish());
    Bytes::from(written.unwrap_or_default())
}

fn accepts_gzip(request: &HttpRequest) -> bool {
    let supported = [Encoding::gzip(), Encoding::identity()];
    request.headers().contains_key(header::ACCEPT_ENCODING)
        && AcceptEncoding::parse(request)
            .is_ok_and(|accepted| accepted.negotiate(supported.iter()) == Some(Encoding::gzip()))
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

/// Returns the page.
pub async fn get_page(
    state: Data<ApiState>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    respond(&state, &request, INDEX)
}

/// Returns a file, or the page at the path of one of its parts.
pub async fn get_file(
    state: Data<ApiState>,
    request: HttpRequest,
    path: Path<String>,
) -> Result<HttpResponse, ApiError> {
    respond(&state, &request, &path)
}

fn respond(state: &ApiState, request: &HttpRequest, path: &str) -> Result<HttpResponse, ApiError> {
    let console = state.console.as_ref();
    let file = console.and_then(|console| console.find(path));
    let file = file.ok_or(ApiError::new(ProblemCode::RouteNotFound))?;
    Ok(file.respond(request))
}
