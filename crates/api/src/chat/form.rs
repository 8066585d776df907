//! The form in which a chat's answer is wanted.

use actix_web::http::header::{ACCEPT, HeaderMap, HeaderName};
use domain::ProblemCode;

use crate::{
    problem::ApiError,
    request::{accepts, names},
    sse::EVENT_STREAM,
};

const PREFER: HeaderName = HeaderName::from_static("prefer");
/// The preference of a client that does not wait for the reply.
pub(super) const RESPOND_ASYNC: &str = "respond-async";

/// What keeps a stream from who asks for one in the body.
const NO_STREAM: &str = "`stream` asks for `text/event-stream`, which `Accept` does not take: add \
                         it there, drop the header, or leave `stream` out";
/// What keeps a whole answer from who asks for no stream.
const NO_JSON: &str = "a whole answer is `application/json`, which `Accept` does not take: add it \
                       there, drop the header, or ask for a stream";

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
    /// What the request says: `stream` in its body before `Accept`, and both before `Prefer`.
    pub(super) fn of(headers: &HeaderMap, stream: Option<bool>) -> Result<Self, ApiError> {
        let names_stream = || names(headers, ACCEPT, EVENT_STREAM);
        if stream.unwrap_or_else(names_stream) {
            return if accepts(headers, EVENT_STREAM) {
                Ok(Self::Stream)
            } else {
                Err(ApiError::new(ProblemCode::NotAcceptable).with_detail(NO_STREAM))
            };
        }
        if !accepts(headers, "application/json") {
            return Err(ApiError::new(ProblemCode::NotAcceptable).with_detail(NO_JSON));
        }
        if names(headers, PREFER, RESPOND_ASYNC) {
            Ok(Self::Turn)
        } else {
            Ok(Self::Whole)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use actix_web::http::header::HeaderValue;

    use super::*;

    fn form(lines: &[(HeaderName, &'static str)], stream: Option<bool>) -> Option<Form> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name.clone(), HeaderValue::from_static(value));
        }
        Form::of(&headers, stream).ok()
    }

    #[test]
    fn the_body_decides_before_accept_and_both_before_prefer() {
        let sse = (ACCEPT, "text/event-stream");
        let later = (PREFER, "wait=5, respond-async");
        assert_eq!(form(&[], None), Some(Form::Whole));
        assert_eq!(form(&[(ACCEPT, "*/*")], None), Some(Form::Whole));
        assert_eq!(form(from_ref(&sse), None), Some(Form::Stream));
        assert_eq!(form(&[], Some(true)), Some(Form::Stream));
        assert_eq!(form(from_ref(&later), None), Some(Form::Turn));
        assert_eq!(form(&[later.clone(), sse], None), Some(Form::Stream));
        assert_eq!(form(&[later], Some(true)), Some(Form::Stream));
        let both = (ACCEPT, "application/json, text/event-stream");
        assert_eq!(form(from_ref(&both), None), Some(Form::Stream));
        assert_eq!(form(&[both], Some(false)), Some(Form::Whole));
    }

    #[test]
    fn what_does_not_fit_accept_is_not_given() {
        assert_eq!(form(&[(ACCEPT, "text/event-stream")], Some(false)), None);
        assert_eq!(form(&[(ACCEPT, "application/json")], Some(true)), None);
        assert_eq!(form(&[(ACCEPT, "text/html")], None), None);
        let refused = (ACCEPT, "application/json, text/event-stream;q=0");
        assert_eq!(form(&[refused], None), Some(Form::Whole));
    }
}
