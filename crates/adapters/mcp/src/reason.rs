//! Why a server cannot be reached, without its address: that may hold a secret.

use std::error::Error;

use rmcp::{
    service::{ClientInitializeError, ServiceError},
    transport::streamable_http_client::StreamableHttpError,
};

use crate::foreign_text::printable;

/// The longest reason that is told: some servers answer whole pages.
const LONGEST_REASON: usize = 200;

/// A server cannot be reached.
#[derive(Debug, thiserror::Error)]
#[error("the server of tools cannot be reached: {0}")]
pub(crate) struct Unreachable(String);

impl Unreachable {
    /// Tells the first cause.
    pub(crate) fn because(error: &(dyn Error + 'static)) -> Self {
        Self(first_cause(error))
    }

    /// Tells a cause that nobody reported.
    pub(crate) fn since(cause: &str) -> Self {
        Self(cause.to_owned())
    }
}

fn first_cause(error: &(dyn Error + 'static)) -> String {
    let mut first = error;
    while let Some(cause) = cause(first) {
        first = cause;
    }
    // Of all that is met on the way, only this says the address.
    let reason = match first.downcast_ref::<reqwest::Error>() {
        Some(error) if error.is_timeout() => "it takes too long".to_owned(),
        Some(error) => match error.status() {
            Some(status) => format!("HTTP {}", status.as_u16()),
            None => "the connection has failed".to_owned(),
        },
        None => first.to_string(),
    };
    printable(&reason, LONGEST_REASON)
}

/// Some errors of the SDK hold a cause that they do not give as their source, and say its text, with
/// the address, as theirs.
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
