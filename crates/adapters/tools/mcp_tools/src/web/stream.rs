//! Streams that respond to requests.

use futures::{StreamExt as _, TryStreamExt as _, future::ready, stream::BoxStream};
use reqwest::Response;
use rmcp::{model::RequestId, transport::streamable_http_client::SseError};
use sse_stream::{Sse, SseStream};

use super::{reply::too_large, server_stream::with_minimum_retry};
use crate::nesting::prune_event;

/// The maximum size of a stream that responds to one request, as a multiple of the maximum message:
/// a server may send progress notifications in it.
const MAX_STREAM_FACTOR: usize = 4;

/// The reason that a stream ended early.
#[derive(Debug, thiserror::Error)]
enum StreamError {
    #[error("the response is too large")]
    TooLarge,
    #[error(transparent)]
    Lost(reqwest::Error),
}

/// Returns the stream that responds to a request. If it is too large, it ends with an error
/// response to the request.
pub(super) fn events(
    response: Response,
    request_id: RequestId,
    max_bytes: usize,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let mut left = max_bytes.saturating_mul(MAX_STREAM_FACTOR);
    let bytes = response.bytes_stream().map_err(StreamError::Lost);
    let bytes = bytes.and_then(move |part| {
        let rest = left.checked_sub(part.len());
        left = rest.unwrap_or_default();
        ready(rest.map(|_| part).ok_or(StreamError::TooLarge))
    });
    let events = SseStream::from_bytes_stream(bytes);
    let bounded = events.map(move |event| match event {
        Ok(event)
            if event
                .data
                .as_ref()
                .is_some_and(|data| data.len() > max_bytes) =>
        {
            too_large_event(&request_id)
        }
        Err(SseError::Body(cut)) if matches!(cut.downcast_ref(), Some(StreamError::TooLarge)) => {
            too_large_event(&request_id)
        }
        event => event.map(with_minimum_retry).map(prune_event),
    });
    bounded.boxed()
}

fn too_large_event(request_id: &RequestId) -> Result<Sse, SseError> {
    let message = serde_json::to_string(&too_large(request_id.clone()));
    let message = message.map_err(|error| SseError::Body(Box::new(error)))?;
    Ok(Sse::default().data(message))
}
