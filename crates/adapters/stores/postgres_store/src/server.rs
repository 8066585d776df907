//! The first connections to a server, which find out if it can be used.

use std::{
    io::{self, ErrorKind},
    str::FromStr,
    sync::Once,
};

use sqlx::{
    ConnectOptions, Connection, PgConnection, Row,
    postgres::{PgConnectOptions, PgRow, PgSslMode},
};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::{
    connections::{CALL_TIMEOUT, prepare},
    tls_tunnel::Tunnel,
};

relational::statements! {
    const ENCODING: &str = "select current_setting('server_encoding')";

    const SESSION: &str = "select pg_backend_pid()";

    /// The number of connections that the server admits for this role and database. Superusers may use those
    /// that are reserved, and have no limits of their own.
    const GRANTED: &str = "\
        select least( \
            current_setting('max_connections')::int8 - case when r.rolsuper then 0 else \
                current_setting('superuser_reserved_connections')::int8 \
                + coalesce(current_setting('reserved_connections', true)::int8, 0) end, \
            case when r.rolconnlimit >= 0 and not r.rolsuper then r.rolconnlimit end, \
            case when d.datconnlimit >= 0 and not r.rolsuper then d.datconnlimit end) \
        from pg_roles r, pg_database d \
        where r.rolname = session_user and d.datname = current_database()";
}

/// The name of this program's sessions, unless the URL contains another.
const APPLICATION_NAME: &str = "agent-service";

const TRANSACTION_POOLING: &str = "\
    the connection pooler in front of the database gives each transaction another session \
    (transaction pooling); set it to session pooling, which is pool_mode = session in PgBouncer, or \
    connect to its port for sessions or to the database itself";

const CERTIFICATE_VERSION: &str = "\
    the certificate of the database server has version 1, which neither can be verified nor allows a \
    client certificate: create it again with version 3 (openssl x509 -req with the option -extfile and \
    a file that contains subjectAltName=DNS: and the name of the server), or connect without \
    verification (sslmode=require without sslrootcert and channel_binding) and without sslcert";
/// The name of that error in the message of the TLS library, which offers no other way to recognise it.
const UNSUPPORTED_VERSION: &str = "UnsupportedCertVersion";

/// A start that waits for the database tries again and again.
static TUNNEL_WARNING: Once = Once::new();

/// A database that was found to be usable.
pub(crate) struct CheckedDatabase {
    /// The options of all connections.
    pub(crate) options: PgConnectOptions,
    /// The tunnel that they need, if any.
    pub(crate) tunnel: Option<Tunnel>,
    /// The number of connections that the server admits.
    pub(crate) connection_limit: u32,
}

/// Checks that the database at `url` can be used.
pub(crate) async fn check_database(
    url: &str,
    tasks: &TaskTracker,
) -> Result<CheckedDatabase, sqlx::Error> {
    let options = options(url)?;
    let checked = check(&options).await;
    if !checked.as_ref().is_err_and(is_of_certificate_version) {
        return Ok(CheckedDatabase {
            connection_limit: checked?,
            options,
            tunnel: None,
        });
    }
    if needs_certificate(&options) {
        return Err(unusable(CERTIFICATE_VERSION));
    }
    TUNNEL_WARNING.call_once(|| {
        tracing::warn!(
            "the certificate of the database server has version 1, so no sslmode can verify it; \
             connections go through a local TLS tunnel"
        );
    });
    let (options, tunnel) = Tunnel::open(&options, tasks).await?;
    let connection_limit = check(&options).await?;
    Ok(CheckedDatabase {
        options,
        tunnel: Some(tunnel),
        connection_limit,
    })
}

fn is_of_certificate_version(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Io(error) if error.to_string().contains(UNSUPPORTED_VERSION))
}

/// Returns whether a certificate is verified, or one is presented to the server.
fn needs_certificate(options: &PgConnectOptions) -> bool {
    let url = options.to_url_lossy();
    matches!(
        options.get_ssl_mode(),
        PgSslMode::VerifyCa | PgSslMode::VerifyFull
    ) || url.query_pairs().any(|(name, _)| name == "sslcert")
}

fn options(url: &str) -> Result<PgConnectOptions, sqlx::Error> {
    // Poolers reject this parameter, and newer servers need it for nothing.
    let options = PgConnectOptions::from_str(url)?.extra_float_digits(None);
    Ok(match options.get_application_name() {
        Some(_) => options,
        None => options.application_name(APPLICATION_NAME),
    })
}

/// Opens a connection outside the pool.
pub(crate) async fn connect(options: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
    let is_socket = options.get_socket().is_some() || options.get_host().starts_with('/');
    match in_time(options.connect()).await {
        // A server creates its socket when it starts.
        Err(sqlx::Error::Io(error)) if is_socket && error.kind() == ErrorKind::NotFound => {
            Err(io::Error::new(ErrorKind::ConnectionRefused, error).into())
        }
        connected => connected,
    }
}

/// Opens a connection and uses it: a pooler accepts a login before it has a session for it.
pub(crate) async fn connect_and_use(
    options: &PgConnectOptions,
) -> Result<PgConnection, sqlx::Error> {
    let mut connection = connect(options).await?;
    in_time(value::<i32>(&mut connection, SESSION)).await?;
    Ok(connection)
}

/// Limits the time of an exchange with the server.
pub(crate) fn in_time<T>(
    exchange: impl Future<Output = Result<T, sqlx::Error>>,
) -> impl Future<Output = Result<T, sqlx::Error>> {
    let ended = timeout(CALL_TIMEOUT, Box::pin(exchange));
    async move {
        ended.await.unwrap_or_else(|_elapsed| {
            Err(io::Error::new(ErrorKind::TimedOut, "the server does not respond").into())
        })
    }
}

/// Checks that the database stores all text, and that each connection has a session of its own. Returns
/// the number of connections that the server admits.
async fn check(options: &PgConnectOptions) -> Result<u32, sqlx::Error> {
    let mut connection = connect(options).await?;
    in_time(check_on(&mut connection, options)).await?;
    let connection_limit = in_time(value::<i64>(&mut connection, GRANTED)).await?;
    let _ = in_time(connection.close()).await;
    Ok(u32::try_from(connection_limit).unwrap_or_default())
}

async fn check_on(
    connection: &mut PgConnection,
    options: &PgConnectOptions,
) -> Result<(), sqlx::Error> {
    prepare(connection).await?;
    let encoding: String = value(connection, ENCODING).await?;
    if encoding != "UTF8" {
        return Err(unusable(&format!(
            "the encoding of the database is {encoding}, which cannot hold all text; create the \
             database with encoding 'UTF8'"
        )));
    }
    // Only a pooler gives one session to two connections. Without a free connection for this check,
    // there is no second one.
    let Ok(mut other) = connect(options).await else {
        return Ok(());
    };
    if uses_transaction_pooling(connection, &mut other).await? {
        return Err(unusable(TRANSACTION_POOLING));
    }
    let _ = other.close().await;
    Ok(())
}

/// Returns whether statements of `one` run in a session that `other` uses too, or in several sessions.
/// Prepared statements and settings of such connections get lost. The pooler of a busy database may
/// hide it by chance.
async fn uses_transaction_pooling(
    one: &mut PgConnection,
    other: &mut PgConnection,
) -> Result<bool, sqlx::Error> {
    let before: i32 = value(one, SESSION).await?;
    run(other, "begin").await?;
    let of_other: i32 = value(other, SESSION).await?;
    // The open transaction keeps its session, so that this statement runs in another.
    let after: i32 = value(one, SESSION).await?;
    run(other, "rollback").await?;
    Ok(of_other == before || after != before)
}

async fn run(connection: &mut PgConnection, text: &'static str) -> Result<(), sqlx::Error> {
    let done = sqlx::raw_sql(text).execute(connection).await;
    done.map(drop)
}

/// Returns the value of a statement that is not prepared: names of prepared statements collide in a
/// session with several users.
async fn value<T>(connection: &mut PgConnection, text: &'static str) -> Result<T, sqlx::Error>
where
    T: for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    let row: PgRow = sqlx::raw_sql(text).fetch_one(connection).await?;
    row.try_get(0)
}

fn unusable(reason: &str) -> sqlx::Error {
    sqlx::Error::Configuration(reason.into())
}
