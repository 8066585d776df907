//! Conversion of SQLite errors to errors of the ports.

use ports::RepositoryError;
use relational::sql_error;
use sqlx::error::DatabaseError;

/// Converts an error for which no port method promises a special outcome. Rejected data is not
/// `Unavailable`: a retry would not help, and in a batch the error belongs to one write.
pub(crate) fn from_sqlx(error: sqlx::Error) -> RepositoryError {
    match error {
        sqlx::Error::Encode(source) => RepositoryError::Corrupt {
            what: "a value".to_owned(),
            source,
        },
        sqlx::Error::Database(error) if is_of_data(error.as_ref()) => RepositoryError::Corrupt {
            what: "a written row".to_owned(),
            source: error.into(),
        },
        error => sql_error::from_sqlx(error),
    }
}

/// Whether the disk was full.
pub(crate) fn is_full(error: &sqlx::Error) -> bool {
    const FULL: i32 = 13;
    let database = error.as_database_error();
    database.and_then(primary_code) == Some(FULL)
}

/// Whether SQLite rejected the data of a statement: constraint, type of a strict table, or size.
fn is_of_data(error: &dyn DatabaseError) -> bool {
    const TOO_BIG: i32 = 18;
    const CONSTRAINT: i32 = 19;
    const MISMATCH: i32 = 20;
    matches!(primary_code(error), Some(TOO_BIG | CONSTRAINT | MISMATCH))
}

fn primary_code(error: &dyn DatabaseError) -> Option<i32> {
    let extended: i32 = error.code()?.parse().ok()?;
    // The last byte of an extended code is the primary code.
    Some(extended & 0xff)
}

/// Returns the conversion of errors of reading `table`.
pub(crate) fn in_table(table: &'static str) -> impl Fn(sqlx::Error) -> RepositoryError {
    sql_error::in_table(table, from_sqlx)
}

/// Returns the conversion of errors of an insert that MUST fail with `Conflict` if `what` exists.
pub(crate) fn conflict_on(what: &'static str) -> impl Fn(sqlx::Error) -> RepositoryError {
    sql_error::conflict_on(what, from_sqlx)
}
