//! Tests of the errors for servers that cannot be used.

use std::str::FromStr;

use ports::error::with_causes;
use postgres_store::{PostgresOptions, PostgresStore};
use sqlx::{AssertSqlSafe, ConnectOptions, Executor as _, postgres::PgConnectOptions};
use tokio::net::TcpSocket;
use tokio_util::task::TaskTracker;

use crate::database::Database;

async fn refusal(options: &PgConnectOptions) -> String {
    let url = options.to_url_lossy();
    let options = PostgresOptions::default();
    let connected = PostgresStore::connect(url.as_str(), options, &TaskTracker::new()).await;
    with_causes(&connected.err().expect("the connection fails"))
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
