//! The version check of updates and deletions.

use ports::RepositoryError;

/// Checks the version that a caller expects of an entity: `Stale` if the stored one differs.
pub fn check_version(
    what: &'static str,
    stored: i64,
    expected: Option<i64>,
) -> Result<(), RepositoryError> {
    if expected.is_some_and(|expected| expected != stored) {
        return Err(RepositoryError::Stale { what });
    }
    Ok(())
}
