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

/// A response that is a stream of events.
pub(crate) struct EventStream {
    pub(crate) response: reqwest::Response,
    unread: String,
}

impl EventStream {
    /// Sends a request with a streamed response.
    pub(crate) async fn open(request: Request) -> Self {
        let response = request.open().await;
        assert_eq!(response.status(), 200, "{response:?}");
        let header = |name: &str| response.headers()[name].to_str().expect("text").to_owned();
        assert_eq!(header("content-type"), "text/event-stream");
        assert_eq!(header("cache-control"), "no-store, no-transform");
        Self {
            response,
            unread: String::new(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let value = self.response.headers().get(name)?;
        Some(value.to_str().expect("text"))
    }

    /// The next event; `None` at the clean end of the stream.
    pub(crate) async fn next(&mut self) -> Option<StreamedEvent> {
        loop {
            while let Some((block, rest)) = self.unread.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.unread = rest;
                if let Some(event) = event(&block) {
                    return Some(event);
                }
            }
            let chunk = tokio::time::timeout(TIMEOUT, self.response.chunk()).await;
            let chunk = chunk.expect("the stream goes on in time");
            let Some(bytes) = chunk.expect("a chunk") else {
                let is_whole = self.unread.is_empty() || self.unread.ends_with('\n');
                let is_cut = !is_whole || event(&self.unread).is_some();
                assert!(!is_cut, "the stream was cut: {}", self.unread);
                return None;
            };
            self.unread.push_str(str::from_utf8(&bytes).expect("UTF-8"));
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
    let field = |name: &str| {
        let lines = block.lines().filter_map(move |line| {
            let (found, value) = line.split_once(':')?;
            (found == name).then(|| value.strip_prefix(' ').unwrap_or(value))
        });
        lines.reduce(|_, last| last).map(str::to_owned)
    };
    let name = field("event")?;
    let data = field("data").expect("an event carries something");
    Some(StreamedEvent {
        name,
        id: field("id"),
        data: serde_json::from_str(&data).expect("JSON"),
    })
}
