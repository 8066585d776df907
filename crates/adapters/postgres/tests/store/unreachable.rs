//! Tests of the errors for servers that cannot be used.

use std::{error::Error as _, net::SocketAddr, str::FromStr};

use ports::{RepositoryError, error::with_causes};
use postgres_store::{NotUsableYet, PostgresOptions, PostgresStore};
use sqlx::{AssertSqlSafe, ConnectOptions, Executor as _, postgres::PgConnectOptions};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpSocket},
};
use tokio_util::task::TaskTracker;

use crate::database::Database;

async fn error(options: &PgConnectOptions) -> RepositoryError {
    let url = options.to_url_lossy();
    let options = PostgresOptions::default();
    let connected = PostgresStore::connect(url.as_str(), options, &TaskTracker::new()).await;
    connected.err().expect("the connection fails")
}

async fn refusal(options: &PgConnectOptions) -> String {
    with_causes(&error(options).await)
}

/// Starts a server that rejects every connection with this code.
async fn rejecting_server(code: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("its address");
    TaskTracker::new().spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut request = [0; 1024];
            let _length = client.read(&mut request).await;
            let fields = format!("SFATAL\0VFATAL\0C{code}\0Mrejected\0\0");
            let length = u32::try_from(fields.len() + 4).expect("a short message");
            let message = [b"E", &length.to_be_bytes()[..], fields.as_bytes()].concat();
            let _written = client.write_all(&message).await;
        }
    });
    address
}

#[tokio::test]
async fn only_errors_that_pass_by_themselves_are_worth_waiting_for() {
    for (code, passes) in [
        ("57P03", true),
        ("53300", true),
        ("57P01", true),
        ("28P01", false),
        ("3D000", false),
        ("42501", false),
    ] {
        let address = rejecting_server(code).await;
        let url = format!("postgres://ada@{address}/agents?sslmode=disable");
        let error = error(&PgConnectOptions::from_str(&url).expect("a URL")).await;
        let cause = error.source().expect("a cause");
        assert_eq!(cause.is::<NotUsableYet>(), passes, "{code}: {cause}");
    }
}

#[tokio::test]
async fn a_port_without_a_listener_is_reported_as_a_refused_connection() {
    // The socket is bound, so that no other process uses the port, but it never listens.
    let socket = TcpSocket::new_v4().expect("a socket");
    let anywhere = "127.0.0.1:0".parse().expect("an address");
    socket.bind(anywhere).expect("a free port");
    let port = socket.local_addr().expect("its address").port();
    let options = PgConnectOptions::from_str("postgres://ada@127.0.0.1/agents");
    let refused = refusal(&options.expect("a URL").port(port)).await;
    assert!(refused.contains("Connection refused"), "{refused}");
    assert_eq!(refused.matches("refused").count(), 1, "{refused}");
}

#[tokio::test]
async fn a_database_with_an_unsuitable_encoding_is_rejected() {
    let server = Database::new_empty().await;
    let name = format!(
        "{}_latin1",
        server.options().get_database().expect("a name")
    );
    let mut connection = server.connect().await;
    let create = format!("create database {name} template template0 encoding 'LATIN1' locale 'C'");
    let created = connection.execute(AssertSqlSafe(create)).await;
    created.expect("a database");
    let refused = refusal(&server.options().database(&name)).await;
    let drop_it = format!("drop database {name} with (force)");
    let dropped = connection.execute(AssertSqlSafe(drop_it)).await;
    dropped.expect("the database is dropped");
    assert!(
        refused.contains("LATIN1") && refused.contains("UTF8"),
        "{refused}"
    );
}

#[tokio::test]
async fn the_message_of_the_server_appears_once_with_its_code() {
    let database = Database::new_empty().await;
    let missing = database.options().database("there_is_none_of_this_name");
    assert_eq!(
        refusal(&missing).await,
        "the store is unavailable: database \"there_is_none_of_this_name\" does not exist \
         (SQLSTATE 3D000)"
    );
}
