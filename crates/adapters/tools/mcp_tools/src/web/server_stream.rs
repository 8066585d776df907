//! The stream with messages that a server sends unrequested. The SDK reopens it whenever it ends:
//! after the time that the server sets, at once after an error, and forever.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt as _, future::ready, stream::BoxStream};
use parking_lot::Mutex;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::Sse;
use tokio::time::Instant;

use crate::nesting::prune_event;

/// The minimum pause before a stream is reopened, whatever the server sets.
const MIN_PAUSE: Duration = Duration::from_secs(1);

/// A stream that was open for this long counts as useful, even without messages.
const USEFUL_TIME: Duration = Duration::from_secs(30);

/// The maximum number of consecutive reopenings without a message. After that, changes are found by
/// the regular listing.
const MAX_USELESS_STREAMS: u32 = 5;

type Events = BoxStream<'static, Result<Sse, SseError>>;

/// The history of the stream within one session.
#[derive(Clone, Default)]
pub(super) struct ServerStream(Arc<Mutex<History>>);

#[derive(Default)]
struct History {
    /// The id of its last event, by which it is resumed. Streams that respond to requests have
    /// other ids.
    last_event: Option<String>,
    opened: Option<Instant>,
    useless_streams: u32,
}

impl ServerStream {
    /// Returns whether the stream that is resumed after this event is the server's own stream.
    pub(super) fn matches(&self, last_event: Option<&str>) -> bool {
        last_event.is_none() || last_event == self.0.lock().last_event.as_deref()
    }

    /// Returns the pause before the stream is opened; `None` if it must not be reopened.
    pub(super) fn pause(&self) -> Option<Duration> {
        let mut history = self.0.lock();
        let now = Instant::now();
        let is_repeated = history
            .opened
            .is_some_and(|opened| now - opened < USEFUL_TIME);
        history.useless_streams = if is_repeated {
            history.useless_streams + 1
        } else {
            0
        };
        if history.useless_streams > MAX_USELESS_STREAMS {
            tracing::debug!("MCP server keeps closing its event stream; not reopening it");
            return None;
        }
        let pause = match history.useless_streams {
            0 => Duration::ZERO,
            times => MIN_PAUSE * 2_u32.pow(times - 1),
        };
        history.opened = Some(now + pause);
        Some(pause)
    }

    /// Wraps a stream to record whether it was useful.
    pub(super) fn watched(&self, events: Events) -> Events {
        let recorder = self.clone();
        let watched = events.inspect(move |event| {
            if let Ok(event) = event {
                recorder.record(event);
            }
        });
        watched.boxed()
    }

    fn record(&self, event: &Sse) {
        let mut history = self.0.lock();
        if event.id.is_some() {
            history.last_event.clone_from(&event.id);
        }
        if event.data.as_ref().is_some_and(|data| !data.is_empty()) {
            history.useless_streams = 0;
        }
    }
}

/// Raises the retry time of an event to the minimum.
pub(super) fn with_minimum_retry(mut event: Sse) -> Sse {
    let minimum = u64::try_from(MIN_PAUSE.as_millis()).unwrap_or(u64::MAX);
    event.retry = event.retry.map(|wait| wait.max(minimum));
    event
}

/// Prepares the events of a resumed stream and ends it at its first error, after which the SDK
/// reopens it without a pause.
pub(super) fn until_error(events: Events) -> Events {
    let accepted = |event| prune_event(with_minimum_retry(event));
    let events = events.scan((), move |(), event| ready(event.ok().map(accepted).map(Ok)));
    events.boxed()
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use tokio::time::{advance, sleep};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Opens a stream with these events and returns the pause before it.
    async fn open(stream: &ServerStream, events: Vec<Sse>) -> Option<Duration> {
        let pause = stream.pause()?;
        sleep(pause).await;
        let events = stream::iter(events.into_iter().map(Ok)).boxed();
        stream.watched(events).collect::<Vec<_>>().await;
        Some(pause)
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_keeps_ending_is_reopened_ever_later_and_then_no_more() {
        let stream = ServerStream::default();
        for seconds in [0, 1, 2, 4, 8, 16] {
            assert_eq!(open(&stream, Vec::new()).await, Some(seconds * SECOND));
            advance(SECOND).await;
        }
        assert_eq!(open(&stream, Vec::new()).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn useful_streams_are_reopened() {
        let stream = ServerStream::default();
        for times in 0..20 {
            let events = vec![Sse::default().data("{}")];
            let expected = SECOND * u32::from(times > 0);
            assert_eq!(open(&stream, events).await, Some(expected));
        }
        for _ in 0..20 {
            advance(USEFUL_TIME).await;
            assert_eq!(open(&stream, Vec::new()).await, Some(Duration::ZERO));
        }
    }

    #[tokio::test]
    async fn streams_that_respond_to_requests_are_distinguished() {
        let stream = ServerStream::default();
        assert!(stream.matches(None));
        assert!(!stream.matches(Some("1")));
        stream.record(&Sse::default().id("1"));
        stream.record(&Sse::default().data("{}"));
        assert!(stream.matches(Some("1")));
        assert!(!stream.matches(Some("2")));
    }

    #[tokio::test]
    async fn retry_times_have_a_minimum_and_errors_end_the_stream() {
        let hasty = Sse {
            retry: Some(0),
            ..Sse::default()
        };
        let slow = Sse {
            retry: Some(60_000),
            ..Sse::default()
        };
        let error = SseError::Body("broken off".into());
        let events = stream::iter([Ok(hasty), Ok(slow), Err(error), Ok(Sse::default())]);
        let events: Vec<_> = until_error(events.boxed()).collect().await;
        let waits: Vec<_> = events
            .into_iter()
            .map(|event| event.expect("no error").retry)
            .collect();
        assert_eq!(waits, [Some(1_000), Some(60_000)]);
    }
}
