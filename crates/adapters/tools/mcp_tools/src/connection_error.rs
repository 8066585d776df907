//! Connection errors without the server's address, which may contain a secret.

use std::{error::Error, io};

use rmcp::{
    service::{ClientInitializeError, ServiceError},
    transport::streamable_http_client::StreamableHttpError,
};

use crate::{foreign_text::printable, request_guard::GuardError};

type ProcessGuardError = GuardError<io::Error>;
type WebGuardError = GuardError<StreamableHttpError<reqwest::Error>>;

/// The maximum number of characters of a reason: some servers return whole pages.
const MAX_REASON_CHARS: usize = 200;

/// The server is unreachable.
#[derive(Debug, thiserror::Error)]
#[error("the MCP server is unreachable: {0}")]
pub(crate) struct ConnectionError(String);

impl ConnectionError {
    /// Creates an error from the root cause of `error`.
    pub(crate) fn from_error(error: &(dyn Error + 'static)) -> Self {
        Self(root_cause(error))
    }

    /// Creates an error with a reason of our own.
    pub(crate) fn new(cause: &str) -> Self {
        Self(cause.to_owned())
    }
}

/// Returns whether the server may have received the request that failed, and may have executed it. That is
/// so unless something proves the opposite.
pub(crate) fn may_have_arrived(error: &ServiceError) -> bool {
    let mut error: &(dyn Error + 'static) = error;
    loop {
        if let Some(known) = known_arrival(error) {
            return known;
        }
        match cause(error) {
            Some(cause) => error = cause,
            None => return true,
        }
    }
}

/// Returns the same for an error without its causes; `None` if they decide.
fn known_arrival(error: &(dyn Error + 'static)) -> Option<bool> {
    if let Some(error) = error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        return Some(match error {
            StreamableHttpError::Client(error) => !error.is_connect() && !error.is_builder(),
            StreamableHttpError::HttpStatus(error) => may_have_executed(error.status),
            StreamableHttpError::SessionExpired
            | StreamableHttpError::ReinitializationFailed(_)
            | StreamableHttpError::AuthRequired(_)
            | StreamableHttpError::InsufficientScope(_) => false,
            _ => true,
        });
    }
    let is_refused = matches!(
        error.downcast_ref(),
        Some(ProcessGuardError::TooManyRequests)
    ) || matches!(error.downcast_ref(), Some(WebGuardError::TooManyRequests));
    // A process has not received the whole line.
    (is_refused || error.is::<io::Error>()).then_some(false)
}

/// Returns whether a server that answers with this status may have executed the request. It refuses a request
/// with most of 4xx, and sends it elsewhere with 3xx.
const fn may_have_executed(status: u16) -> bool {
    !matches!(status, 300..=499) || matches!(status, 303 | 408)
}

fn root<'e>(error: &'e (dyn Error + 'static)) -> &'e (dyn Error + 'static) {
    let mut root = error;
    while let Some(cause) = cause(root) {
        root = cause;
    }
    root
}

fn root_cause(error: &(dyn Error + 'static)) -> String {
    let root = root(error);
    // Only this error type contains the address.
    let reason = match root.downcast_ref::<reqwest::Error>() {
        Some(error) if error.is_timeout() => "the request timed out".to_owned(),
        Some(error) => match error.status() {
            Some(status) => format!("HTTP {}", status.as_u16()),
            None => "the connection failed".to_owned(),
        },
        None => root.to_string(),
    };
    printable(&reason, MAX_REASON_CHARS)
}

/// Returns the cause of an error. Some errors of the SDK contain a cause that is not their
/// `source`, and repeat its text with the address.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    if let Some(ServiceError::TransportSend(error)) = error.downcast_ref() {
        return Some(error.error.as_ref());
    }
    if let Some(ClientInitializeError::TransportError { error, .. }) = error.downcast_ref() {
        return Some(error.error.as_ref());
    }
    if let Some(StreamableHttpError::<reqwest::Error>::Client(error)) = error.downcast_ref() {
        return Some(error);
    }
    error.source()
}

#[cfg(test)]
mod tests {
    use super::may_have_executed;

    #[test]
    fn a_request_was_not_executed_if_the_status_says_so() {
        for status in [307, 308, 400, 401, 403, 404, 409, 429] {
            assert!(!may_have_executed(status), "{status}");
        }
        for status in [303, 408, 500, 502, 503, 504] {
            assert!(may_have_executed(status), "{status}");
        }
    }
}
