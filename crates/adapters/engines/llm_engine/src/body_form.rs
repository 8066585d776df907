//! The form of a response: events or one JSON document.
//!
//! Servers and the proxies before them label correct responses as text, as bytes, or not at all. So
//! the first bytes decide, and the label only where they do not.

use http_clients::has_media_type;
use reqwest::Response;

/// The fields of an event stream, and the beginning of a comment.
const EVENT_FIELDS: &[&[u8]] = &[b":", b"data", b"event", b"id", b"retry"];
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The form of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyForm {
    /// Server-sent events.
    Events,
    /// One JSON document.
    Json,
}

impl BodyForm {
    /// Returns the form of a body that begins with `start`; `None` if these bytes do not decide.
    pub(crate) fn of_start(start: &[u8]) -> Option<Self> {
        let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
        let start = start.trim_ascii_start();
        if start.starts_with(b"{") {
            return Some(Self::Json);
        }
        let is_event = EVENT_FIELDS.iter().any(|field| start.starts_with(field));
        is_event.then_some(Self::Events)
    }

    /// Returns true if more bytes can still decide the form of a body that begins with `start`.
    pub(crate) fn is_open(start: &[u8]) -> bool {
        let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
        let start = start.trim_ascii_start();
        let begins = |whole: &&[u8]| whole.starts_with(start);
        begins(&BYTE_ORDER_MARK) || EVENT_FIELDS.iter().any(begins)
    }

    /// Returns the form that a response is labelled with.
    pub(crate) fn of_label(response: &Response) -> Option<Self> {
        if has_media_type(response, "text/event-stream") {
            return Some(Self::Events);
        }
        has_media_type(response, "application/json").then_some(Self::Json)
    }
}
