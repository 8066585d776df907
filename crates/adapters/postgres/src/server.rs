//! The first connections to a server, which find out if it can be used.

use std::{io::ErrorKind, str::FromStr};

use ports::RepositoryError;
use sqlx::{ConnectOptions, Connection, PgConnection, postgres::PgConnectOptions};
use tokio::time::timeout;

use crate::{
    connections::CALL_TIMEOUT,
    error::{NotUsableYet, from_sqlx, server_message},
};

const ENCODING: &str = "select current_setting('server_encoding')";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[ENCODING];

/// The name of this program's sessions, unless the URL contains another.
const APPLICATION_NAME: &str = "agent-service";

/// The codes, and classes of codes, with which a server that is starting or stopping, or has no free
/// connection, rejects a connection.
const PASSING: [&str; 6] = ["57P01", "57P02", "57P03", "53", "08001", "08006"];

/// Returns the options of all connections to the database at `url`.
pub(crate) fn options(url: &str) -> Result<PgConnectOptions, RepositoryError> {
    let options = PgConnectOptions::from_str(url).map_err(from_sqlx)?;
    Ok(match options.get_application_name() {
        Some(_) => options,
        None => options.application_name(APPLICATION_NAME),
    })
}

/// Opens a connection outside the pool.
pub(crate) async fn connect(options: &PgConnectOptions) -> Result<PgConnection, RepositoryError> {
    let not_usable_yet = |reason: String| RepositoryError::Unavailable(NotUsableYet(reason).into());
    match timeout(CALL_TIMEOUT, options.connect()).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) if passes(&error, options) => Err(not_usable_yet(match error {
            sqlx::Error::Database(error) => server_message(&*error),
            error => error.to_string(),
        })),
        Ok(Err(error)) => Err(from_sqlx(error)),
        Err(_elapsed) => Err(not_usable_yet("the server does not respond".to_owned())),
    }
}

/// Returns whether a connection may succeed later without any change to its options.
fn passes(error: &sqlx::Error, options: &PgConnectOptions) -> bool {
    match error {
        sqlx::Error::Io(error) => match error.kind() {
            // The server creates its socket when it starts. Otherwise, a certificate is missing.
            ErrorKind::NotFound => {
                options.get_socket().is_some() || options.get_host().starts_with('/')
            }
            // TLS, and what this process is not permitted to do.
            ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::PermissionDenied => false,
            _ => true,
        },
        sqlx::Error::Database(error) => error
            .code()
            .is_some_and(|code| PASSING.iter().any(|passing| code.starts_with(passing))),
        _ => false,
    }
}

/// Checks that the server can be used and that the database stores all text.
pub(crate) async fn check(options: &PgConnectOptions) -> Result<(), RepositoryError> {
    let mut connection = connect(options).await?;
    let encoding = sqlx::query_scalar(ENCODING).fetch_one(&mut connection);
    let encoding: String = timeout(CALL_TIMEOUT, encoding)
        .await
        .map_err(|elapsed| RepositoryError::Unavailable(elapsed.into()))?
        .map_err(from_sqlx)?;
    if encoding != "UTF8" {
        let reason = format!(
            "the encoding of the database is {encoding}, which cannot hold all text; create the \
             database with encoding 'UTF8'"
        );
        return Err(RepositoryError::Unavailable(reason.into()));
    }
    connection.close().await.map_err(from_sqlx)
}
