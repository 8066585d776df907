//! The bodies of requests to the home region.

use std::sync::Arc;

use bytes::Bytes;
use domain::{
    ForwardedRequest, RegionKey,
    region::{StreamedDigest, body_digest},
};
use futures::{
    Stream, StreamExt as _, TryStreamExt as _,
    stream::{self, BoxStream},
};
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use parking_lot::Mutex;
use ports::{BoxError, SentBody};

/// A body as the connection sends it.
pub(crate) type WireBody = UnsyncBoxBody<Bytes, BoxError>;

type Chunks = BoxStream<'static, Result<Bytes, BoxError>>;

/// A body that can be sent again until a part of it was taken.
#[derive(Clone)]
pub(crate) enum Outgoing {
    Whole(Bytes),
    /// `None` once it is being sent.
    Streamed(Arc<Mutex<Option<Chunks>>>),
}

impl From<SentBody> for Outgoing {
    fn from(body: SentBody) -> Self {
        match body {
            SentBody::Whole(bytes) => Self::Whole(bytes),
            SentBody::Streamed(chunks) => Self::Streamed(Arc::new(Mutex::new(Some(chunks)))),
        }
    }
}

impl Outgoing {
    pub(crate) const fn is_streamed(&self) -> bool {
        matches!(self, Self::Streamed(_))
    }

    /// Returns true if the body cannot be sent again.
    pub(crate) fn is_taken(&self) -> bool {
        match self {
            Self::Whole(_) => false,
            Self::Streamed(chunks) => chunks.lock().is_none(),
        }
    }

    /// Returns the digest for the head of the request.
    pub(crate) fn digest(&self) -> String {
        match self {
            Self::Whole(bytes) => body_digest(bytes),
            Self::Streamed(_) => ForwardedRequest::STREAMED.to_owned(),
        }
    }

    /// Returns the body for a request with this signed head. Nothing is taken before the connection sends it.
    pub(crate) fn wire(self, head: &str, key: &RegionKey) -> WireBody {
        match self {
            Self::Whole(bytes) => whole(bytes),
            Self::Streamed(chunks) => {
                let taken = move || chunks.lock().take();
                let chunks = stream::once(async move { taken() }).flat_map(|taken| {
                    taken.unwrap_or_else(|| Box::pin(stream::once(async { Err(repeated()) })))
                });
                let frames = sealed(chunks, head.to_owned(), key.clone()).map_ok(Frame::data);
                StreamBody::new(frames).boxed_unsync()
            }
        }
    }
}

/// Returns a body that is in memory.
pub(crate) fn whole(bytes: Bytes) -> WireBody {
    Full::new(bytes)
        .map_err(|never| match never {})
        .boxed_unsync()
}

fn repeated() -> BoxError {
    "a part of the body was sent before".into()
}

/// Adds the trailer to a body that ends without an error.
fn sealed(
    chunks: impl Stream<Item = Result<Bytes, BoxError>> + Send + 'static,
    head: String,
    key: RegionKey,
) -> impl Stream<Item = Result<Bytes, BoxError>> {
    let open = Some((StreamedDigest::default(), head, key));
    stream::try_unfold((chunks.boxed(), open), |(mut chunks, open)| async move {
        let Some((mut digest, head, key)) = open else {
            return Ok(None);
        };
        let Some(chunk) = chunks.try_next().await? else {
            let trailer = digest.trailer(&head, &key);
            return Ok(Some((Bytes::copy_from_slice(&trailer), (chunks, None))));
        };
        digest.push(&chunk);
        Ok(Some((chunk, (chunks, Some((digest, head, key))))))
    })
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    const HEAD: &str = "a head";

    fn key() -> RegionKey {
        RegionKey::parse(&"k".repeat(32)).unwrap()
    }

    fn streamed(chunks: Vec<Result<Bytes, BoxError>>) -> Outgoing {
        SentBody::Streamed(stream::iter(chunks).boxed()).into()
    }

    fn sent(body: &Outgoing) -> Result<Bytes, BoxError> {
        let wire = body.clone().wire(HEAD, &key());
        let sent = wire.collect().now_or_never().expect("all parts are there");
        sent.map(http_body_util::Collected::to_bytes)
    }

    #[test]
    fn a_trailer_follows_the_whole_body() {
        let body = streamed(vec![Ok("Well, ".into()), Ok("yes.".into())]);
        let bytes = sent(&body).unwrap();
        let mut digest = StreamedDigest::default();
        digest.push(b"Well, yes.");
        let trailer = digest.trailer(HEAD, &key());
        assert_eq!(bytes, [&b"Well, yes."[..], &trailer].concat());
    }

    #[test]
    fn no_trailer_follows_a_body_that_is_cut_off() {
        let body = streamed(vec![Ok("Well, ".into()), Err("lost".into())]);
        assert_eq!(sent(&body).unwrap_err().to_string(), "lost");
    }

    #[test]
    fn a_body_is_taken_once_and_only_when_it_is_sent() {
        let body = streamed(vec![Ok("Well".into())]);
        drop(body.clone().wire(HEAD, &key()));
        assert!(!body.is_taken());
        sent(&body).unwrap();
        assert!(body.is_taken());
        sent(&body).unwrap_err();
    }
}
