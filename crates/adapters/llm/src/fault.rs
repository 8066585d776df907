//! What goes wrong with an upstream, and what that means to those who asked.

use std::{fmt, time::Duration};

use ports::{BoxError, ReplyError};
use reqwest::StatusCode;
use serde_json::Value;

/// Why a question got no answer. Says nothing that the upstream said in free text: that could hold
/// the prompt, or the key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// There was no connection, or it broke before the head of an answer.
    #[error("the upstream cannot be reached")]
    Unreachable(#[source] BoxError),
    /// The connection broke within the answer.
    #[error("the upstream's answer was cut")]
    Cut(#[source] BoxError),
    /// It took too long.
    #[error("the upstream took too long")]
    TimedOut,
    /// It said that it will not, or cannot.
    #[error(transparent)]
    Complaint(#[from] Complaint),
    /// What it said is none of what it may say.
    #[error("{0}")]
    Malformed(&'static str),
}

/// An upstream's own words about what went wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) struct Complaint {
    pub(crate) status: StatusCode,
    pub(crate) code: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) retry_after: Option<Duration>,
}

impl fmt::Display for Complaint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the upstream answered {}", self.status.as_u16())?;
        if let Some(code) = &self.code {
            write!(formatter, ", code {code}")?;
        }
        if let Some(kind) = &self.kind {
            write!(formatter, ", type {kind}")?;
        }
        Ok(())
    }
}

impl Fault {
    pub(crate) fn unreachable(error: reqwest::Error) -> Self {
        Self::Unreachable(error.without_url().into())
    }

    pub(crate) fn cut(error: reqwest::Error) -> Self {
        Self::Cut(error.without_url().into())
    }

    /// Whether the same question may get an answer soon.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Cut(_) => true,
            Self::TimedOut | Self::Malformed(_) => false,
            Self::Complaint(complaint) => {
                complaint.status.is_server_error()
                    || complaint.status == StatusCode::TOO_MANY_REQUESTS
            }
        }
    }

    /// When it says the question may be put again.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Complaint(complaint) => complaint.retry_after,
            _ => None,
        }
    }
}

impl From<Fault> for ReplyError {
    fn from(fault: Fault) -> Self {
        match &fault {
            Fault::Unreachable(_) => Self::Unavailable(fault.into()),
            Fault::TimedOut => Self::TimedOut,
            Fault::Cut(_) | Fault::Malformed(_) => Self::BadAnswer(fault.into()),
            Fault::Complaint(complaint) => match complaint.status {
                StatusCode::TOO_MANY_REQUESTS => Self::RateLimited {
                    retry_after: complaint.retry_after,
                },
                StatusCode::REQUEST_TIMEOUT => Self::TimedOut,
                status if status.is_server_error() => Self::Unavailable(fault.into()),
                // What is neither an error nor an answer, such as a redirect, asks for something
                // that the operator has to see to, just as a refusal does.
                _ => Self::Refused(fault.into()),
            },
        }
    }
}

impl Complaint {
    /// What the body of a refusal, or an event of a stream, says of an error. `key` is the secret
    /// that must not come back from there.
    pub(crate) fn read(status: Option<StatusCode>, error: &Value, key: Option<&str>) -> Self {
        let said = |member| {
            let word = match error.get(member)? {
                Value::String(word) => word.clone(),
                Value::Number(number) => number.to_string(),
                _ => return None,
            };
            let is_harmless = key.is_none_or(|key| !word.contains(key));
            (is_harmless && is_word(&word)).then_some(word)
        };
        let (code, kind) = (said("code"), said("type"));
        let words = [code.as_deref(), kind.as_deref()];
        Self {
            status: status.unwrap_or_else(|| meant_by(words.into_iter().flatten())),
            code,
            kind,
            retry_after: None,
        }
    }
}

/// What may stand in a log: a name of an error, no sentence.
fn is_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain)
}

/// The status that an error would have had before the stream began. What no word explains is the
/// server's own trouble.
fn meant_by<'a>(words: impl Iterator<Item = &'a str>) -> StatusCode {
    const REFUSALS: [&str; 11] = [
        "invalid",
        "authentication",
        "permission",
        "not_found",
        "notfound",
        "badrequest",
        "bad_request",
        "unsupported",
        "exceeded",
        "policy",
        "filter",
    ];
    for word in words {
        let number = word
            .parse()
            .ok()
            .filter(|number| (400..=599).contains(number));
        if let Some(status) = number.and_then(|number| StatusCode::from_u16(number).ok()) {
            return status;
        }
        let word = word.to_ascii_lowercase();
        if ["rate_limit", "ratelimit", "too_many_requests", "quota"]
            .iter()
            .any(|part| word.contains(part))
        {
            return StatusCode::TOO_MANY_REQUESTS;
        }
        if REFUSALS.iter().any(|part| word.contains(part)) {
            return StatusCode::BAD_REQUEST;
        }
    }
    StatusCode::INTERNAL_SERVER_ERROR
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn of_status(status: u16) -> Fault {
        let status = StatusCode::from_u16(status).unwrap();
        Complaint::read(Some(status), &Value::Null, None).into()
    }

    #[rstest]
    #[case(500, true, true)]
    #[case(503, true, true)]
    #[case(529, true, true)]
    #[case(429, true, true)]
    #[case(408, false, true)]
    #[case(400, false, false)]
    #[case(401, false, false)]
    #[case(404, false, false)]
    #[case(422, false, false)]
    #[case(301, false, false)]
    fn a_status_says_whether_it_may_pass(
        #[case] status: u16,
        #[case] may_pass: bool,
        #[case] is_retryable: bool,
    ) {
        let fault = of_status(status);
        assert_eq!(fault.may_pass(), may_pass);
        assert_eq!(ReplyError::from(fault).is_retryable(), is_retryable);
    }

    #[rstest]
    #[case(json!({"code": 502}), 502)]
    #[case(json!({"code": "429"}), 429)]
    #[case(json!({"code": "rate_limit_exceeded"}), 429)]
    #[case(json!({"type": "insufficient_quota"}), 429)]
    #[case(json!({"code": "context_length_exceeded", "type": "invalid_request_error"}), 400)]
    #[case(json!({"code": null, "type": "invalid_request_error"}), 400)]
    #[case(json!({"type": "authentication_error"}), 400)]
    #[case(json!({"type": "BadRequestError", "code": 400}), 400)]
    #[case(json!({"type": "overloaded_error"}), 500)]
    #[case(json!({"code": 7, "type": "server_error"}), 500)]
    #[case(json!({"message": "an invalid question, says the server"}), 500)]
    #[case(json!("a sentence"), 500)]
    fn an_error_in_a_stream_means_a_status(#[case] error: Value, #[case] expected: u16) {
        assert_eq!(Complaint::read(None, &error, None).status, expected);
    }

    #[rstest]
    #[case(json!({"code": "model_not_found", "type": "invalid_request_error"}), "the upstream answered 404, code model_not_found, type invalid_request_error")]
    #[case(json!({"code": "hello, here is your prompt", "type": ""}), "the upstream answered 404")]
    #[case(json!({"code": "bad-key-sk-secret", "message": "sk-secret"}), "the upstream answered 404")]
    #[case(json!({"code": ["a"], "type": {"b": 1}}), "the upstream answered 404")]
    #[case(json!({"code": "a".repeat(65)}), "the upstream answered 404")]
    fn tells_names_of_errors_alone(#[case] error: Value, #[case] expected: &str) {
        let complaint = Complaint::read(Some(StatusCode::NOT_FOUND), &error, Some("sk-secret"));
        assert_eq!(complaint.to_string(), expected);
    }
}
