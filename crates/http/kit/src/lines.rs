//! Responses that are streams of lines, each a JSON document.
//!
//! Lines are pulled, as events are ([`crate::sse`]): a slow client causes no work and uses no memory, and a
//! client that does not read loses its connection.

use actix_web::{HttpResponse, http::header::CACHE_CONTROL, web::Bytes};
use futures::Stream;
use serde::Serialize;

use crate::sse::{Cut, STREAM_CACHING, X_ACCEL_BUFFERING};

/// The media type of lines of JSON.
pub const JSON_LINES: &str = "application/x-ndjson";

/// Encoded lines, to be sent in one piece.
#[derive(Debug, Default)]
pub struct Lines(Vec<u8>);

impl Lines {
    /// Adds a line: an object whose first member is `type`. `resource` is an object with at least one member.
    pub fn push(&mut self, kind: &str, resource: &impl Serialize) {
        self.push_text("{\"type\":\"");
        self.push_text(kind);
        self.push_text("\"");
        let start = self.0.len();
        self.push_json(resource);
        // In place of the brace with which the resource begins.
        self.0[start] = b',';
        self.push_text("\n");
    }

    /// Adds a value to the current line.
    pub fn push_json(&mut self, value: &impl Serialize) {
        // The value consists of text, numbers and JSON, so it can be serialized, and JSON is one line.
        let _ = serde_json::to_writer(&mut self.0, value);
    }

    /// Adds a text to the current line.
    pub fn push_text(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Returns whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the lines as they are sent.
    pub fn into_bytes(self) -> Bytes {
        self.0.into()
    }
}

/// Returns a response that sends pieces of lines until their end, or until the connection is cut.
pub fn stream(pieces: impl Stream<Item = Result<Bytes, Cut>> + 'static) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CACHE_CONTROL, STREAM_CACHING))
        .insert_header((X_ACCEL_BUFFERING, "no"))
        .content_type(JSON_LINES)
        .streaming(pieces)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_is_the_resource_with_its_type() {
        let mut lines = Lines::default();
        assert!(lines.is_empty());
        lines.push("note", &json!({"id": "7", "content": "a\nb"}));
        lines.push("end", &json!({"counts": {}}));
        let note = r#"{"type":"note","content":"a\nb","id":"7"}"#;
        let end = r#"{"type":"end","counts":{}}"#;
        assert_eq!(lines.into_bytes(), format!("{note}\n{end}\n"));
    }
}
