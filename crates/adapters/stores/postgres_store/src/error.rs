//! Conversion of PostgreSQL errors to errors of the ports.

use std::io::{self, ErrorKind};

use ports::RepositoryError;
use relational::sql_error;
use sqlx::error::DatabaseError;

/// The classes of transient errors (the first two characters of their codes). They do not
/// indicate a fault of the stored data, and pass by themselves or when an operator acts: connection failures,
/// rejected logins, missing databases, rollbacks, missing resources, operator intervention, system
/// errors. Invalid transaction states and objects not in the required state (such as a lock that
/// was not granted in time) are included: they also come from a server that accepts no writes.
const TRANSIENT_CLASSES: [&str; 9] = ["08", "25", "28", "3D", "40", "53", "55", "57", "58"];

/// The codes, and classes of codes, of a server that is starting or stopping, or has no free connection,
/// and of a session that it has ended because it was idle.
const TEMPORARY: [&str; 8] = [
    "57P01", "57P02", "57P03", "57P05", "25P03", "53", "08001", "08006",
];

/// The code of a server that admits no further connection.
const FULL: &str = "53300";

/// The code of an attempt to write in a read-only session.
const READ_ONLY: &str = "25006";

/// The error of a session that accepts no writes, because the server is a standby or the database
/// is set to read-only. The session may stay read-only after the database accepts writes again.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ReadOnlySession(pub(crate) String);

/// The database cannot be used yet: it does not respond, is starting, has no free connection, or
/// is read-only and must be migrated. This passes by itself or when an operator acts.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotUsableYet(pub(crate) String);

/// Converts an error for which no port method promises a special outcome.
pub(crate) fn from_sqlx(error: sqlx::Error) -> RepositoryError {
    match error {
        error if is_temporary(&error) => {
            let message = match error {
                sqlx::Error::Database(source) => server_message(&*source),
                error => error.to_string(),
            };
            RepositoryError::Unavailable(NotUsableYet(message).into())
        }
        sqlx::Error::Configuration(reason) => RepositoryError::Unavailable(reason),
        sqlx::Error::Database(source) if !is_transient(&*source) => RepositoryError::Corrupt {
            what: source.table().unwrap_or("a statement").to_owned(),
            source: source.into(),
        },
        sqlx::Error::Database(source) => {
            let message = server_message(&*source);
            RepositoryError::Unavailable(match source.code().as_deref() {
                Some(READ_ONLY) => ReadOnlySession(message).into(),
                _ => message.into(),
            })
        }
        error => sql_error::from_sqlx(error),
    }
}

/// Returns whether the same call may succeed later without any change to the options of the connection.
pub(crate) fn is_temporary(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(error) => is_temporary_io(error),
        sqlx::Error::Database(error) => error.code().is_some_and(|code| {
            TEMPORARY
                .iter()
                .any(|temporary| code.starts_with(temporary))
        }),
        _ => false,
    }
}

/// The others are errors of TLS, missing files, and what this process is not permitted to do.
pub(crate) fn is_temporary_io(error: &io::Error) -> bool {
    !matches!(
        error.kind(),
        ErrorKind::InvalidData
            | ErrorKind::InvalidInput
            | ErrorKind::NotFound
            | ErrorKind::PermissionDenied
    )
}

/// Returns whether a call failed because the connection was lost or its session has ended, or for
/// another cause that a new connection may not have.
pub(crate) fn lost_its_session(error: &RepositoryError) -> bool {
    matches!(error, RepositoryError::Unavailable(source) if source.is::<NotUsableYet>())
}

/// Returns whether a session rejected a write because it is read-only.
pub(crate) fn is_read_only(error: &sqlx::Error) -> bool {
    has_code(error, READ_ONLY)
}

/// Returns whether the server admits no further connection of this role, to this database or at all.
pub(crate) fn is_full(error: &sqlx::Error) -> bool {
    has_code(error, FULL)
}

fn has_code(error: &sqlx::Error, code: &str) -> bool {
    let of_error = error.as_database_error().map(DatabaseError::code);
    of_error.flatten().as_deref() == Some(code)
}

/// The server's message, without the position in its own source that sqlx adds.
fn server_message(error: &dyn DatabaseError) -> String {
    match error.code() {
        Some(code) => format!("{} (SQLSTATE {code})", error.message()),
        None => error.message().to_owned(),
    }
}

fn is_transient(error: &dyn DatabaseError) -> bool {
    let code = error.code();
    let class = code.as_deref().and_then(|code| code.get(..2));
    class.is_none_or(|class| TRANSIENT_CLASSES.contains(&class))
}

/// Returns the conversion of errors of reading `table`.
pub(crate) fn in_table(table: &'static str) -> impl Fn(sqlx::Error) -> RepositoryError {
    sql_error::in_table(table, from_sqlx)
}

/// Returns the conversion of errors of an insert that MUST fail with `Conflict` if `what` exists.
pub(crate) fn conflict_on(what: &'static str) -> impl Fn(sqlx::Error) -> RepositoryError {
    sql_error::conflict_on(what, from_sqlx)
}
