//! Contents that never change while the process runs: the published documents, and the files of the
//! console. They alone are compressed, once each.

use std::{convert::Infallible, io::Write as _, sync::OnceLock};

use actix_web::{
    HttpRequest, HttpResponse,
    body::{MessageBody, SizedStream},
    http::header::{self, AcceptEncoding, ContentEncoding, Encoding, Header as _, HeaderValue},
    web::Bytes,
};
use flate2::{Compression, write::GzEncoder};
use futures::stream;
use kit::{reads, request::etag_matches};

/// The size in bytes of the parts in which a content is sent, because a connection buffers what its
/// client does not read.
const PART_BYTES: usize = 32 * 1024;

/// A content.
pub(crate) struct StaticContent {
    plain: Bytes,
    /// The compressed content, from the first request that accepts it.
    gzip: OnceLock<Bytes>,
    digest: String,
    content_type: &'static str,
    caching: HeaderValue,
}

impl StaticContent {
    /// Prepares a content.
    pub(crate) fn new(plain: Bytes, content_type: &'static str, caching: HeaderValue) -> Self {
        Self {
            gzip: OnceLock::new(),
            digest: reads::digest(&plain),
            plain,
            content_type,
            caching,
        }
    }

    /// Returns the content in an encoding that the client accepts, or 304 if the client has it.
    pub(crate) fn respond(&self, request: &HttpRequest) -> HttpResponse {
        let is_gzip = accepts_gzip(request);
        // Each encoding has a tag of its own (RFC 9110, 8.8.3).
        let suffix = if is_gzip { "-gzip" } else { "" };
        let etag = format!("\"{}{suffix}\"", self.digest);
        let is_fresh = etag_matches(request.headers(), &etag);
        let mut response = if is_fresh {
            HttpResponse::NotModified()
        } else {
            HttpResponse::Ok()
        };
        response
            .insert_header((header::ETAG, etag))
            .insert_header((header::CACHE_CONTROL, self.caching.clone()))
            .insert_header((header::VARY, "Accept-Encoding"));
        if is_fresh {
            return response.finish();
        }
        response.content_type(self.content_type);
        if is_gzip {
            response.insert_header(ContentEncoding::Gzip);
            let gzip = self.gzip.get_or_init(|| compress(&self.plain));
            return response.body(in_parts(gzip));
        }
        response.body(in_parts(&self.plain))
    }
}

/// Returns a body that is sent in parts.
fn in_parts(content: &Bytes) -> impl MessageBody + use<> {
    let (content, bytes) = (content.clone(), content.len() as u64);
    let parts = (0..content.len()).step_by(PART_BYTES).map(move |start| {
        let end = content.len().min(start + PART_BYTES);
        Ok::<_, Infallible>(content.slice(start..end))
    });
    SizedStream::new(bytes, stream::iter(parts))
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

#[cfg(test)]
mod tests {
    use actix_web::{
        body::{BodySize, MessageBody as _},
        test::TestRequest,
    };
    use futures::StreamExt as _;

    use super::*;

    #[actix_web::test]
    async fn a_content_is_sent_completely_in_small_parts() {
        let text = Bytes::from("long ".repeat(50_000));
        let caching = HeaderValue::from_static("no-cache");
        let content = StaticContent::new(text.clone(), "text/plain", caching);
        let body = content
            .respond(&TestRequest::default().to_http_request())
            .into_body();
        assert_eq!(body.size(), BodySize::Sized(text.len() as u64));
        let mut body = std::pin::pin!(body);
        let parts = stream::poll_fn(|context| body.as_mut().poll_next(context));
        let parts: Vec<Bytes> = parts
            .map(|part| part.expect("it is in memory"))
            .collect()
            .await;
        assert!(parts.iter().all(|part| part.len() <= PART_BYTES));
        assert_eq!(parts.concat(), text);
    }
}
