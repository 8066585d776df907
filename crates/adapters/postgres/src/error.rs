//! From errors of PostgreSQL to those of the ports.

use ports::RepositoryError;

/// Classes of errors (the first two characters of their codes) that say nothing about what is
/// stored, and pass by themselves or by the operator's hand: connections, refused logins, missing
/// databases, transactions rolled back, resources, operator intervention, system errors; of a
/// server that accepts no writes at present: transaction states, and objects not in the state that
/// a statement needs (a lock that was not granted in time).
const PASSING: [&str; 9] = ["08", "25", "28", "3D", "40", "53", "55", "57", "58"];

/// The code of a write in a read-only session.
const READ_ONLY: &str = "25006";

/// A session that accepts no writes: of a standby, or of a database that was set to read-only. It
/// may stay so after the database accepts writes again.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ReadOnlySession(pub(crate) String);

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
        sqlx::Error::Database(source) if !is_passing(&*source) => RepositoryError::Corrupt {
            what: source.table().unwrap_or("a statement").to_owned(),
            source: source.into(),
        },
        sqlx::Error::Database(source) if source.code().as_deref() == Some(READ_ONLY) => {
            RepositoryError::Unavailable(ReadOnlySession(told(&*source)).into())
        }
        sqlx::Error::Database(source) => RepositoryError::Unavailable(told(&*source).into()),
        error => RepositoryError::Unavailable(error.into()),
    }
}

/// What the server says, without the line of its own source that the library adds.
fn told(error: &dyn sqlx::error::DatabaseError) -> String {
    match error.code() {
        Some(code) => format!("{} (SQLSTATE {code})", error.message()),
        None => error.message().to_owned(),
    }
}

fn is_passing(error: &dyn sqlx::error::DatabaseError) -> bool {
    let code = error.code();
    let class = code.as_deref().and_then(|code| code.get(..2));
    class.is_none_or(|class| PASSING.contains(&class))
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
