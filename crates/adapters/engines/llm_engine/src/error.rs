//! Errors of calls to an upstream, and their conversion to errors of the port.

use std::time::Duration;

use ports::{BoxError, ReplyError, ToldCause, UnusableReply};
use reqwest::StatusCode;

use crate::upstream_error::UpstreamError;

/// The maximum number of characters of a cause in an error text. Some causes quote certificates.
const MAX_CAUSE_CHARS: usize = 300;

/// The reason that a call gave no reply. Contains no free text of the upstream: that could contain
/// the prompt or the key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LlmError {
    /// The connection failed, or it broke before the head of the response.
    #[error("the upstream cannot be reached")]
    Unreachable(#[source] BoxError),
    /// The connection broke within the response.
    #[error("the upstream's response was cut off")]
    Interrupted(#[source] BoxError),
    /// The response ended before it was complete.
    #[error("the upstream's response is incomplete")]
    Incomplete,
    /// A time limit was exceeded.
    #[error("the upstream took too long")]
    TimedOut,
    /// The upstream returned an error.
    #[error(transparent)]
    UpstreamError(#[from] UpstreamError),
    /// The response violates the protocol.
    #[error("{0}")]
    Malformed(&'static str),
    /// The response is complete and well-formed, but unusable as a reply. The settings of an agent
    /// can cause this.
    #[error("{0}")]
    Unusable(&'static str),
}

impl LlmError {
    /// A response that cannot be parsed. The error of the parser would quote it.
    pub(crate) const MALFORMED: Self = Self::Malformed("the upstream's response is malformed");

    pub(crate) fn unreachable(error: reqwest::Error) -> Self {
        let address = error.url().map(address).unwrap_or_default();
        Self::Unreachable(format!("{address}: {}", cause(error)).into())
    }

    pub(crate) fn interrupted(error: reqwest::Error) -> Self {
        Self::Interrupted(cause(error))
    }

    /// Returns whether the same request may succeed soon.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Interrupted(_) => true,
            Self::TimedOut | Self::Incomplete | Self::Malformed(_) | Self::Unusable(_) => false,
            Self::UpstreamError(upstream_error) => {
                upstream_error.status.is_server_error()
                    || upstream_error.status == StatusCode::TOO_MANY_REQUESTS
            }
        }
    }

    /// Returns whether the upstream does not know the path or the model.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::UpstreamError(it) if it.status == StatusCode::NOT_FOUND)
    }

    /// The time after which the upstream accepts the request again, if it sent one.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::UpstreamError(upstream_error) => upstream_error.retry_after,
            _ => None,
        }
    }
}

/// The host and the port of a URL, whose other parts may be secret.
fn address(url: &reqwest::Url) -> String {
    let port = url.port_or_known_default().unwrap_or_default();
    format!("{}:{port}", url.host_str().unwrap_or_default())
}

fn cause(error: reqwest::Error) -> BoxError {
    sanitize(&ports::error::with_causes(&error.without_url())).into()
}

/// Returns text of an upstream as one line of limited length, for logs.
pub(crate) fn sanitize(text: &str) -> String {
    let mut characters = text.chars();
    let kept = characters.by_ref().take(MAX_CAUSE_CHARS);
    let mut line = String::new();
    for character in kept {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    if characters.next().is_some() {
        line.push('…');
    }
    line
}

impl From<LlmError> for ReplyError {
    fn from(error: LlmError) -> Self {
        match &error {
            LlmError::Unreachable(_) => Self::Unavailable(error.into()),
            LlmError::TimedOut => Self::TimedOut,
            LlmError::Interrupted(_) | LlmError::Incomplete => Self::CutOff(error.into()),
            LlmError::Malformed(reason) => {
                Self::InvalidReply(ToldCause((*reason).to_owned()).into())
            }
            LlmError::Unusable(reason) => Self::InvalidReply(UnusableReply(reason).into()),
            LlmError::UpstreamError(upstream_error) => match upstream_error.status {
                StatusCode::TOO_MANY_REQUESTS => Self::RateLimited {
                    retry_after: upstream_error.retry_after,
                },
                StatusCode::REQUEST_TIMEOUT => Self::TimedOut,
                status if status.is_server_error() => {
                    Self::Unavailable(ToldCause(error.to_string()).into())
                }
                // A redirect, for example, must be resolved by the operator, as must a rejected
                // request.
                _ => Self::Rejected(ToldCause(error.to_string()).into()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::Value;

    use super::*;

    fn from_status(status: u16) -> LlmError {
        let status = StatusCode::from_u16(status).unwrap();
        UpstreamError::read(Some(status), &Value::Null, None).into()
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
    fn a_status_decides_about_retries(
        #[case] status: u16,
        #[case] is_transient: bool,
        #[case] is_retryable: bool,
    ) {
        let error = from_status(status);
        assert_eq!(error.is_transient(), is_transient);
        assert_eq!(ReplyError::from(error).is_retryable(), is_retryable);
    }

    #[test]
    fn foreign_text_becomes_one_short_line() {
        assert_eq!(sanitize("a\r\n\u{1b}[31mb"), "a\\r\\n\\u{1b}[31mb");
        assert_eq!(
            sanitize(&"é".repeat(MAX_CAUSE_CHARS)),
            "é".repeat(MAX_CAUSE_CHARS)
        );
        let truncated = sanitize(&"é".repeat(MAX_CAUSE_CHARS + 1));
        assert_eq!(truncated, "é".repeat(MAX_CAUSE_CHARS) + "…");
    }
}
