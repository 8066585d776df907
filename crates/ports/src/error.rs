//! What can go wrong in a store.

/// The cause of an error, for the log alone.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

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
