//! The form in which a chat's answer is wanted.

use actix_web::http::header::{ACCEPT, HeaderMap, HeaderName};

use crate::{request::names, sse::EVENT_STREAM};

const PREFER: HeaderName = HeaderName::from_static("prefer");
/// The preference of a client that does not wait for the reply.
pub(super) const RESPOND_ASYNC: &str = "respond-async";

/// The form in which a chat's answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The reply, once it is there.
    Whole,
    /// What happens, as it happens.
    Stream,
    /// The turn, at once.
    Turn,
}

impl Form {
    /// Chooses by `stream` in the body before `Accept`, and by both before `Prefer`.
    pub(super) fn of(headers: &HeaderMap, stream: Option<bool>) -> Self {
        if stream.unwrap_or_else(|| names(headers, ACCEPT, EVENT_STREAM)) {
            Self::Stream
        } else if names(headers, PREFER, RESPOND_ASYNC) {
            Self::Turn
        } else {
            Self::Whole
        }
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use actix_web::http::header::HeaderValue;

    use super::*;

    fn form(lines: &[(HeaderName, &'static str)], stream: Option<bool>) -> Form {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name.clone(), HeaderValue::from_static(value));
        }
        Form::of(&headers, stream)
    }

    #[test]
    fn the_body_decides_before_accept_and_both_before_prefer() {
        let sse = (ACCEPT, "text/event-stream");
        let json = (ACCEPT, "application/json");
        let later = (PREFER, "wait=5, respond-async");
        assert_eq!(form(&[], None), Form::Whole);
        assert_eq!(form(&[(ACCEPT, "*/*")], None), Form::Whole);
        assert_eq!(form(from_ref(&sse), None), Form::Stream);
        assert_eq!(form(&[], Some(true)), Form::Stream);
        assert_eq!(form(&[json], Some(true)), Form::Stream);
        assert_eq!(form(from_ref(&sse), Some(false)), Form::Whole);
        assert_eq!(form(from_ref(&later), None), Form::Turn);
        assert_eq!(form(&[later.clone(), sse], None), Form::Stream);
        assert_eq!(form(&[later], Some(true)), Form::Stream);
        let both = (ACCEPT, "application/json, text/event-stream");
        assert_eq!(form(from_ref(&both), None), Form::Stream);
        assert_eq!(form(&[both], Some(false)), Form::Whole);
        let refused = (ACCEPT, "application/json, text/event-stream;q=0");
        assert_eq!(form(&[refused], None), Form::Whole);
    }
}
