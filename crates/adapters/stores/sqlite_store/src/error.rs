//! Conversion of SQLite errors to errors of the ports.

use ports::RepositoryError;
use relational::sql_error;
use rusqlite::ffi;

/// Converts an error for which no port method promises a special outcome. Rejected data is not
/// `Unavailable`: a retry would not help, and in a batch the error belongs to one write.
pub(crate) fn from_sqlx(error: sqlx::Error) -> RepositoryError {
    match error {
        sqlx::Error::Encode(source) => RepositoryError::Corrupt {
            what: "a value".to_owned(),
            source,
        },
        error if code_of(&error).is_some_and(is_of_data) => RepositoryError::Corrupt {
            what: "a written row".to_owned(),
            source: error.into(),
        },
        error => sql_error::from_sqlx(error),
    }
}

/// The same for errors of [`rusqlite`].
pub(crate) fn from_rusqlite(error: rusqlite::Error) -> RepositoryError {
    let code = error.sqlite_error().map(|error| error.extended_code);
    if code.is_some_and(is_of_data) {
        return RepositoryError::Corrupt {
            what: "a written row".to_owned(),
            source: error.into(),
        };
    }
    RepositoryError::Unavailable(error.into())
}

/// Returns the extended result code of SQLite.
pub(crate) fn code_of(error: &sqlx::Error) -> Option<i32> {
    let error = error.as_database_error()?;
    error.code()?.parse().ok()
}

/// Returns true for the code of a full disk.
pub(crate) const fn is_full(code: i32) -> bool {
    primary(code) == ffi::SQLITE_FULL
}

/// Returns true if SQLite rejected the data of a statement: constraint, type of a strict table, or
/// size.
const fn is_of_data(code: i32) -> bool {
    matches!(
        primary(code),
        ffi::SQLITE_TOOBIG | ffi::SQLITE_CONSTRAINT | ffi::SQLITE_MISMATCH
    )
}

/// Returns the primary code: the last byte of an extended code.
const fn primary(extended: i32) -> i32 {
    extended & 0xff
}

/// Returns the conversion of errors of reading `table`.
pub(crate) fn in_table(table: &'static str) -> impl Fn(sqlx::Error) -> RepositoryError {
    sql_error::in_table(table, from_sqlx)
}

/// Returns the conversion of errors of an insert that MUST fail with `Conflict` if `what` exists.
pub(crate) fn conflict_on(what: &'static str) -> impl Fn(sqlx::Error) -> RepositoryError {
    sql_error::conflict_on(what, from_sqlx)
}
