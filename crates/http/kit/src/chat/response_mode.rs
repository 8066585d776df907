//! The form of the response to a chat.

use actix_web::http::header::{ACCEPT, HeaderMap, HeaderName};

use crate::{request::lists, sse::EVENT_STREAM};

const PREFER: HeaderName = HeaderName::from_static("prefer");
/// The value of `Prefer` that requests a response without waiting for the reply.
pub const RESPOND_ASYNC: &str = "respond-async";

/// The form of the response to a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseMode {
    /// The whole reply.
    Full,
    /// The turn's events, while they happen.
    Stream,
    /// The turn, without waiting for its reply.
    Async,
}

impl ResponseMode {
    /// Selects the mode. `stream` in the body takes precedence over `Accept`, and both over
    /// `Prefer`.
    pub fn from_request(headers: &HeaderMap, stream: Option<bool>) -> Self {
        if stream.unwrap_or_else(|| lists(headers, ACCEPT, EVENT_STREAM)) {
            Self::Stream
        } else if lists(headers, PREFER, RESPOND_ASYNC) {
            Self::Async
        } else {
            Self::Full
        }
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use actix_web::http::header::HeaderValue;

    use super::*;

    fn mode(lines: &[(HeaderName, &'static str)], stream: Option<bool>) -> ResponseMode {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name.clone(), HeaderValue::from_static(value));
        }
        ResponseMode::from_request(&headers, stream)
    }

    #[test]
    fn the_body_takes_precedence_over_accept_and_both_over_prefer() {
        let sse = (ACCEPT, "text/event-stream");
        let json = (ACCEPT, "application/json");
        let later = (PREFER, "wait=5, respond-async");
        assert_eq!(mode(&[], None), ResponseMode::Full);
        assert_eq!(mode(&[(ACCEPT, "*/*")], None), ResponseMode::Full);
        assert_eq!(mode(from_ref(&sse), None), ResponseMode::Stream);
        assert_eq!(mode(&[], Some(true)), ResponseMode::Stream);
        assert_eq!(mode(&[json], Some(true)), ResponseMode::Stream);
        assert_eq!(mode(from_ref(&sse), Some(false)), ResponseMode::Full);
        assert_eq!(mode(from_ref(&later), None), ResponseMode::Async);
        assert_eq!(mode(&[later.clone(), sse], None), ResponseMode::Stream);
        assert_eq!(mode(&[later], Some(true)), ResponseMode::Stream);
        let both = (ACCEPT, "application/json, text/event-stream");
        assert_eq!(mode(from_ref(&both), None), ResponseMode::Stream);
        assert_eq!(mode(&[both], Some(false)), ResponseMode::Full);
        let rejected = (ACCEPT, "application/json, text/event-stream;q=0");
        assert_eq!(mode(&[rejected], None), ResponseMode::Full);
    }
}
