//! What can go wrong in a store.

use std::error::Error;

/// The cause of an error, for the log alone.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// What can go wrong in a store: a closed set, so that every caller decides about every case.
/// "Not found" is not among them; it is a value.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// What was to be made exists already.
    #[error("{what} exists already")]
    Conflict {
        /// The kind of thing.
        what: &'static str,
    },
    /// The thing has changed since the caller read it: read again and repeat.
    #[error("{what} has changed since it was read")]
    Stale {
        /// The kind of thing.
        what: &'static str,
    },
    /// A stored row cannot be what this service wrote.
    #[error("{what} is corrupt in the store")]
    Corrupt {
        /// Table and column.
        what: String,
        /// What could not be read.
        #[source]
        source: BoxError,
    },
    /// The store cannot be reached, or did not answer. Whether a write took effect is unknown.
    #[error("the store is unavailable")]
    Unavailable(#[source] BoxError),
}

impl RepositoryError {
    /// Whether the same call can succeed later without any change to it.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

/// An error and all its causes in one line, for the log.
pub fn chain(error: &dyn Error) -> String {
    told(error).replace(['\n', '\r'], " ")
}

/// An error and all its causes, each of them once.
pub fn told(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        // Some errors tell their cause themselves.
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
    fn a_chain_tells_every_cause_once_in_one_line() {
        let refused = RepositoryError::Corrupt {
            what: "agents.config".to_owned(),
            source: "line 1\nline 2".into(),
        };
        let away = RepositoryError::Unavailable(refused.into());
        assert_eq!(
            chain(&away),
            "the store is unavailable: agents.config is corrupt in the store: line 1 line 2"
        );
    }
}
