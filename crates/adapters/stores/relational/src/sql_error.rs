//! Conversion of the errors of sqlx, except those that the database itself reports.

use ports::RepositoryError;

/// Converts an error that does not come from the database.
pub fn from_sqlx(error: sqlx::Error) -> RepositoryError {
    match error {
        sqlx::Error::ColumnDecode { index, source } => RepositoryError::Corrupt {
            what: index,
            source,
        },
        sqlx::Error::Decode(source) => RepositoryError::Corrupt {
            what: "a value".to_owned(),
            source,
        },
        error => RepositoryError::Unavailable(error.into()),
    }
}

/// Returns the conversion of errors of reading `table`. `other` converts all errors that do not
/// name a column.
pub fn in_table(
    table: &'static str,
    other: impl Fn(sqlx::Error) -> RepositoryError,
) -> impl Fn(sqlx::Error) -> RepositoryError {
    move |error| match error {
        sqlx::Error::ColumnDecode { index, source } => RepositoryError::Corrupt {
            what: format!("{table}.{}", index.trim_matches('"')),
            source,
        },
        error => other(error),
    }
}

/// Returns the conversion of errors of an insert that MUST fail with `Conflict` if `what` exists.
/// `other` converts all other errors.
pub fn conflict_on(
    what: &'static str,
    other: impl Fn(sqlx::Error) -> RepositoryError,
) -> impl Fn(sqlx::Error) -> RepositoryError {
    move |error| match error.as_database_error() {
        Some(database) if database.is_unique_violation() => RepositoryError::Conflict { what },
        _ => other(error),
    }
}
