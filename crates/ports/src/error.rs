//! Errors of a store, and their text for the log.

use std::error::Error;

/// The cause of an error; for the log only.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The errors of a store. The set is closed, so that every caller decides about every case. "Not
/// found" is not an error but a value.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// The thing to create already exists.
    #[error("{what} already exists")]
    Conflict {
        /// The kind of thing.
        what: &'static str,
    },
    /// The thing has changed since the caller read it. The caller reads it again and repeats the
    /// call.
    #[error("{what} has changed since it was read")]
    Stale {
        /// The kind of thing.
        what: &'static str,
    },
    /// A stored row has a value that this service does not write.
    #[error("{what} is corrupt in the store")]
    Corrupt {
        /// The table and column.
        what: String,
        /// The reason why the value could not be read.
        #[source]
        source: BoxError,
    },
    /// The store is unreachable or did not respond. It is unknown if a write took effect.
    #[error("the store is unavailable")]
    Unavailable(#[source] BoxError),
}

impl RepositoryError {
    /// Returns `true` if the same call can succeed later without any change to it.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

/// Formats an error and all its causes on one line, for the log.
pub fn one_line(error: &dyn Error) -> String {
    with_causes(error).replace(['\n', '\r'], " ")
}

/// Formats an error and all its causes, each cause once.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        // Some errors include their cause in their own text.
        if !text.ends_with(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_has_every_cause_once_on_one_line() {
        let corrupt = RepositoryError::Corrupt {
            what: "agents.config".to_owned(),
            source: "line 1\nline 2".into(),
        };
        let unavailable = RepositoryError::Unavailable(corrupt.into());
        assert_eq!(
            one_line(&unavailable),
            "the store is unavailable: agents.config is corrupt in the store: line 1 line 2"
        );
    }
}
