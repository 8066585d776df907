//! From errors of SQLite to those of the ports.

use ports::{BoxError, RepositoryError};

/// Any error of a statement that no port promises anything about.
pub(crate) fn from_sqlx(error: sqlx::Error) -> RepositoryError {
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

/// The error of a row of `table` that cannot be read.
pub(crate) fn in_table(table: &'static str) -> impl Fn(sqlx::Error) -> RepositoryError {
    move |error| match error {
        sqlx::Error::ColumnDecode { index, source } => RepositoryError::Corrupt {
            what: format!("{table}.{}", index.trim_matches('"')),
            source,
        },
        error => from_sqlx(error),
    }
}

/// The error of an insert that MUST answer `Conflict` when `what` exists.
pub(crate) fn conflict_on(what: &'static str) -> impl Fn(sqlx::Error) -> RepositoryError {
    move |error| match error.as_database_error() {
        Some(database) if database.is_unique_violation() => RepositoryError::Conflict { what },
        _ => from_sqlx(error),
    }
}

/// The error of a value in `column` (table and name) that this service cannot have written.
pub(crate) fn corrupt<E: Into<BoxError>>(column: &'static str) -> impl Fn(E) -> RepositoryError {
    move |source| RepositoryError::Corrupt {
        what: column.to_owned(),
        source: source.into(),
    }
}
