//! Streams that answer requests.

use futures::{StreamExt as _, TryStreamExt as _, future::ready, stream::BoxStream};
use reqwest::Response;
use rmcp::{model::RequestId, transport::streamable_http_client::SseError};
use sse_stream::{Sse, SseStream};

use super::{listening::patient, reply::too_large};
use crate::nesting::prune_event;

/// How many times the largest message a stream may have that answers one request: a server may tell
/// of its progress in it.
const STREAMED: usize = 4;

/// Why a stream ends before its end.
#[derive(Debug, thiserror::Error)]
enum Cut {
    #[error("the answer is too large")]
    TooLarge,
    #[error(transparent)]
    Lost(reqwest::Error),
}

/// The stream that answers a request. Where it is too large it ends with a refusal of the request.
pub(super) fn events(
    response: Response,
    asked: RequestId,
    largest: usize,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let mut left = largest.saturating_mul(STREAMED);
    let bytes = response.bytes_stream().map_err(Cut::Lost);
    let bytes = bytes.and_then(move |part| {
        let rest = left.checked_sub(part.len());
        left = rest.unwrap_or_default();
        ready(rest.map(|_| part).ok_or(Cut::TooLarge))
    });
    let events = SseStream::from_bytes_stream(bytes);
    let bounded = events.map(move |event| match event {
        Ok(event) if event.data.as_ref().is_some_and(|data| data.len() > largest) => {
            refused(&asked)
        }
        Err(SseError::Body(cut)) if matches!(cut.downcast_ref(), Some(Cut::TooLarge)) => {
            refused(&asked)
        }
        event => event.map(patient).map(prune_event),
    });
    bounded.boxed()
}

fn refused(asked: &RequestId) -> Result<Sse, SseError> {
    let message = serde_json::to_string(&too_large(asked.clone()));
    let message = message.map_err(|error| SseError::Body(Box::new(error)))?;
    Ok(Sse::default().data(message))
}
