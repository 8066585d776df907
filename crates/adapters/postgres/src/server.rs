//! The first connections to a server, which find out if it can be used.

use std::{io::ErrorKind, str::FromStr};

use ports::RepositoryError;
use sqlx::{
    ConnectOptions, Connection, PgConnection, Row,
    postgres::{PgConnectOptions, PgRow, PgSslMode},
};
use tokio::time::timeout;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    connections::{CALL_TIMEOUT, prepare},
    error::{NotUsableYet, from_sqlx, server_message},
    tls_tunnel,
};

const ENCODING: &str = "select current_setting('server_encoding')";
const SESSION: &str = "select pg_backend_pid()";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[ENCODING, SESSION];

/// The name of this program's sessions, unless the URL contains another.
const APPLICATION_NAME: &str = "agent-service";

/// The codes, and classes of codes, with which a server that is starting or stopping, or has no free
/// connection, rejects a connection.
const PASSING: [&str; 6] = ["57P01", "57P02", "57P03", "53", "08001", "08006"];

const TRANSACTION_POOLING: &str = "\
    the connection pooler in front of the database gives each transaction another session \
    (transaction pooling); set it to session pooling, which is pool_mode = session in PgBouncer, or \
    connect to its port for sessions or to the database itself";

const CERTIFICATE_VERSION: &str = "\
    the certificate of the database server has version 1, which cannot be verified: create it again \
    with version 3 (openssl x509 -req with the option -extfile and a file that contains \
    subjectAltName=DNS: and the name of the server), or set sslmode=require, which verifies nothing";
/// The name of that error in the message of the TLS library, which offers no other way to recognise it.
const UNSUPPORTED_VERSION: &str = "UnsupportedCertVersion";

/// Returns the options of all connections to the database at `url`, after a check that it can be used.
/// A tunnel that they need ends with `stop`.
pub(crate) async fn usable_options(
    url: &str,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) -> Result<PgConnectOptions, RepositoryError> {
    let options = options(url)?;
    let verifies = matches!(
        options.get_ssl_mode(),
        PgSslMode::VerifyCa | PgSslMode::VerifyFull
    );
    match check(&options).await {
        Err(RepositoryError::Unavailable(error)) if error.is::<UnreadableCertificate>() => {
            if verifies {
                return Err(RepositoryError::Unavailable(error));
            }
            tracing::warn!(
                "the certificate of the database server has version 1, so no sslmode can verify it; \
                 TLS takes one more step in this process"
            );
            let tunnel = tls_tunnel::open(&options, tasks, stop).await;
            let options = tunnel.map_err(|error| RepositoryError::Unavailable(error.into()))?;
            let checked = check(&options).await;
            if checked.is_err() {
                stop.cancel();
            }
            checked.map(|()| options)
        }
        checked => checked.map(|()| options),
    }
}

/// The certificate of the server has version 1.
#[derive(Debug, thiserror::Error)]
#[error("{CERTIFICATE_VERSION}")]
struct UnreadableCertificate;

fn options(url: &str) -> Result<PgConnectOptions, RepositoryError> {
    // Poolers reject this parameter, and newer servers need it for nothing.
    let options = PgConnectOptions::from_str(url)
        .map_err(from_sqlx)?
        .extra_float_digits(None);
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
        Ok(Err(error)) if error.to_string().contains(UNSUPPORTED_VERSION) => {
            Err(RepositoryError::Unavailable(UnreadableCertificate.into()))
        }
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

/// Checks that the database stores all text, and that each connection has a session of its own.
async fn check(options: &PgConnectOptions) -> Result<(), RepositoryError> {
    let mut connection = connect(options).await?;
    let checked = timeout(CALL_TIMEOUT, check_on(&mut connection, options)).await;
    let checked = checked.map_err(|elapsed| RepositoryError::Unavailable(elapsed.into()))?;
    checked?;
    connection.close().await.map_err(from_sqlx)
}

async fn check_on(
    connection: &mut PgConnection,
    options: &PgConnectOptions,
) -> Result<(), RepositoryError> {
    prepare(connection).await.map_err(from_sqlx)?;
    let encoding: String = value(connection, ENCODING).await?;
    if encoding != "UTF8" {
        return unusable(&format!(
            "the encoding of the database is {encoding}, which cannot hold all text; create the \
             database with encoding 'UTF8'"
        ));
    }
    // Only a pooler gives one session to two connections. Without a free connection for this check,
    // there is no second one.
    let Ok(mut other) = connect(options).await else {
        return Ok(());
    };
    if share_a_session(connection, &mut other).await? {
        return unusable(TRANSACTION_POOLING);
    }
    other.close().await.map_err(from_sqlx)
}

/// Returns whether statements of `one` run in a session that `other` uses too, or in several sessions.
/// Prepared statements and settings of such connections get lost. The pooler of a busy database may
/// hide it by chance.
async fn share_a_session(
    one: &mut PgConnection,
    other: &mut PgConnection,
) -> Result<bool, RepositoryError> {
    let before: i32 = value(one, SESSION).await?;
    run(other, "begin").await?;
    let of_other: i32 = value(other, SESSION).await?;
    // The open transaction keeps its session, so that this statement runs in another.
    let after: i32 = value(one, SESSION).await?;
    run(other, "rollback").await?;
    Ok(of_other == before || after != before)
}

async fn run(connection: &mut PgConnection, text: &'static str) -> Result<(), RepositoryError> {
    let done = sqlx::raw_sql(text).execute(connection).await;
    done.map(drop).map_err(from_sqlx)
}

/// Returns the value of a statement that is not prepared: names of prepared statements collide in a
/// session with several users.
async fn value<T>(connection: &mut PgConnection, text: &'static str) -> Result<T, RepositoryError>
where
    T: for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    let row: Result<PgRow, sqlx::Error> = sqlx::raw_sql(text).fetch_one(connection).await;
    row.and_then(|row| row.try_get(0)).map_err(from_sqlx)
}

fn unusable(reason: &str) -> Result<(), RepositoryError> {
    Err(RepositoryError::Unavailable(reason.into()))
}
