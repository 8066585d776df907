//! Errors of object stores as those of the port.

use object_store::Error;
use ports::BlobError;

/// Converts the error of a request for one blob.
pub(crate) fn of_blob(error: Error) -> BlobError {
    match error {
        Error::NotFound { .. } => BlobError::NotFound,
        _ => unavailable(error),
    }
}

/// Converts any other error: a bucket that is not found is no blob that is not found.
pub(crate) fn unavailable(error: impl Into<ports::BoxError>) -> BlobError {
    BlobError::Unavailable(error.into())
}
