//! Connection errors without the server's address, which may contain a secret.

use std::error::Error;

use rmcp::{
    service::{ClientInitializeError, ServiceError},
    transport::streamable_http_client::StreamableHttpError,
};

use crate::foreign_text::printable;

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

/// Returns whether the server may have received the request that failed.
pub(crate) fn may_have_arrived(error: &ServiceError) -> bool {
    if matches!(error, ServiceError::TransportClosed) {
        return true;
    }
    let root = root(error).downcast_ref::<reqwest::Error>();
    root.is_some_and(|error| !error.is_connect() && error.status().is_none())
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
