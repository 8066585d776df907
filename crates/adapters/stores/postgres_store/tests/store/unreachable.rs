//! Tests of the errors for servers that cannot be used.

use std::{error::Error as _, str::FromStr};

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

/// Accepts the login of any user.
const LOGIN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";

/// Starts a server that responds to the first requests of a connection with `responses`. Then it closes
/// the connection, or is silent.
async fn scripted_server(responses: Vec<Vec<u8>>, is_silent: bool) -> PgConnectOptions {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("its address");
    TaskTracker::new().spawn(async move {
        let mut silent = Vec::new();
        while let Ok((mut client, _)) = listener.accept().await {
            for response in &responses {
                let mut request = [0; 1024];
                let _length = client.read(&mut request).await;
                let _written = client.write_all(response).await;
            }
            if is_silent {
                silent.push(client);
            }
        }
    });
    let url = format!("postgres://ada@{address}/agents?sslmode=disable");
    PgConnectOptions::from_str(&url).expect("a URL")
}

fn rejection(code: &str) -> Vec<u8> {
    let fields = format!("SFATAL\0VFATAL\0C{code}\0Mrejected\0\0");
    let length = u32::try_from(fields.len() + 4).expect("a short message");
    [b"E", &length.to_be_bytes()[..], fields.as_bytes()].concat()
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
        // Before and after the login.
        for responses in [vec![rejection(code)], vec![LOGIN.to_vec(), rejection(code)]] {
            let error = error(&scripted_server(responses, false).await).await;
            let cause = error.source().expect("a cause");
            assert_eq!(cause.is::<NotUsableYet>(), passes, "{code}: {cause}");
        }
    }
}

#[tokio::test]
async fn a_server_that_disappears_after_the_login_is_worth_waiting_for() {
    for is_silent in [false, true] {
        let server = scripted_server(vec![LOGIN.to_vec()], is_silent).await;
        let error = error(&server).await;
        let cause = error.source().expect("a cause");
        assert!(cause.is::<NotUsableYet>(), "{cause}");
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
