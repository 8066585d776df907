//! Why a server cannot be reached, without its address: that may hold a secret.

use std::error::Error;

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
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    // Of all that is met on the way, only this says the address.
    let reason = match cause.downcast_ref::<reqwest::Error>() {
        Some(error) if error.is_timeout() => "it takes too long".to_owned(),
        Some(error) => match error.status() {
            Some(status) => format!("HTTP {}", status.as_u16()),
            None => "the connection has failed".to_owned(),
        },
        None => cause.to_string(),
    };
    reason.chars().take(LONGEST_REASON).collect()
}
