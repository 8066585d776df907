//! Reads server-sent events. Written by hand, because tests check what libraries hide: comments,
//! the fields as sent, and whether a stream ended cleanly or broke.

use std::time::Duration;

use serde_json::Value;

use crate::response::Request;

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(30);

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StreamedEvent {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    pub(crate) data: Value,
}

/// The blocks of a response: the lines up to each empty line.
pub(crate) struct Blocks {
    pub(crate) response: reqwest::Response,
    unread: String,
}

impl Blocks {
    /// The blocks of a response, which must be a stream.
    pub(crate) fn of(response: reqwest::Response) -> Self {
        assert_eq!(response.status(), 200, "{response:?}");
        let header = |name: &str| response.headers()[name].to_str().expect("text").to_owned();
        assert_eq!(header("content-type"), "text/event-stream");
        assert_eq!(header("cache-control"), "no-store, no-transform");
        assert_eq!(header("x-accel-buffering"), "no");
        Self {
            response,
            unread: String::new(),
        }
    }

    /// The next block; `None` at the clean end of the stream.
    pub(crate) async fn next(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.unread.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.unread = rest;
                return Some(block);
            }
            let chunk = tokio::time::timeout(TIMEOUT, self.response.chunk()).await;
            let chunk = chunk.expect("the stream goes on in time");
            let Some(bytes) = chunk.expect("a chunk") else {
                let is_whole = self.unread.is_empty() || self.unread.ends_with('\n');
                let is_cut = !is_whole || field(&self.unread, "data").is_some();
                assert!(!is_cut, "the stream was cut: {}", self.unread);
                return None;
            };
            self.unread.push_str(str::from_utf8(&bytes).expect("UTF-8"));
        }
    }
}

/// The last value of a field of a block.
pub(crate) fn field(block: &str, name: &str) -> Option<String> {
    let lines = block.lines().filter_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found == name).then(|| value.strip_prefix(' ').unwrap_or(value))
    });
    lines.reduce(|_, last| last).map(str::to_owned)
}

/// A response that is a stream of events.
pub(crate) struct EventStream(Blocks);

impl EventStream {
    /// Sends a request with a streamed response.
    pub(crate) async fn open(request: Request) -> Self {
        Self(Blocks::of(request.open().await))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let value = self.0.response.headers().get(name)?;
        Some(value.to_str().expect("text"))
    }

    /// The next event; `None` at the clean end of the stream.
    pub(crate) async fn next(&mut self) -> Option<StreamedEvent> {
        loop {
            if let Some(event) = event(&self.0.next().await?) {
                return Some(event);
            }
        }
    }

    /// The next event, of this name.
    pub(crate) async fn next_of_type(&mut self, name: &str) -> Value {
        let event = self.next().await.expect("the stream goes on");
        assert_eq!(event.name, name, "{event:?}");
        event.data
    }

    /// All events to the end.
    pub(crate) async fn remaining(&mut self) -> Vec<StreamedEvent> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

/// The event of one block; none for comments and settings.
fn event(block: &str) -> Option<StreamedEvent> {
    let name = field(block, "event")?;
    let data = field(block, "data").expect("an event carries something");
    Some(StreamedEvent {
        name,
        id: field(block, "id"),
        data: serde_json::from_str(&data).expect("JSON"),
    })
}
