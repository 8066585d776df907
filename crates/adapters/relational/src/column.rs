//! From values of columns to those of the domain.

use std::str::FromStr;

use ports::{BoxError, RepositoryError};

/// The error of a value in `column` (table and name) that this service cannot have written.
pub fn corrupt<E: Into<BoxError>>(column: &'static str) -> impl Fn(E) -> RepositoryError {
    move |source| RepositoryError::Corrupt {
        what: column.to_owned(),
        source: source.into(),
    }
}

/// Reads a text of `column` that has a form of its own.
pub fn parse<T>(column: &'static str, text: &str) -> Result<T, RepositoryError>
where
    T: FromStr<Err: Into<BoxError>>,
{
    text.parse().map_err(corrupt(column))
}

/// Reads one of the known words of `column`.
pub fn word<T: Copy>(
    column: &'static str,
    text: &str,
    known: impl IntoIterator<Item = T>,
    spelled: impl Fn(T) -> &'static str,
) -> Result<T, RepositoryError> {
    let mut known = known.into_iter();
    known
        .find(|known| spelled(*known) == text)
        .ok_or_else(|| corrupt(column)("an unknown word"))
}
