//! Slow servers.

use std::{
    io::{self, Read, Write as _},
    net::{TcpListener, TcpStream},
    time::{Duration, Instant},
};

use ports::{DocumentError, DocumentSource as _, UrlTrust};
use rstest::rstest;
use tokio::net::TcpSocket;
use web_documents::{Deadlines, WebDocuments};

use crate::{error_texts, server::Server};

const LONG: Duration = Duration::from_mins(1);
const SHORT: Duration = Duration::from_millis(300);

fn with_deadlines(connect: Duration, total: Duration) -> WebDocuments {
    WebDocuments::new(Vec::new()).with_deadlines(Deadlines { connect, total })
}

/// Waits until the client disconnects.
fn wait(connection: &mut TcpStream) -> io::Result<()> {
    connection.read_to_end(&mut Vec::new()).map(|_| ())
}

async fn assert_unavailable_after(limit: Duration, documents: &WebDocuments, url: &str) {
    let start = Instant::now();
    let fetched = documents.fetch(url, UrlTrust::Operator).await;
    let elapsed = start.elapsed();
    let error = fetched.expect_err("no document");
    assert!(matches!(error, DocumentError::Unavailable(_)), "{error:?}");
    assert_eq!(error_texts(&error).0, "the server does not respond");
    assert!(elapsed >= limit, "it took {elapsed:?} only");
    assert!(elapsed < LONG / 2, "it took {elapsed:?}");
}

#[test]
fn the_default_deadlines_are_3_and_10_seconds() {
    let Deadlines { connect, total } = Deadlines::default();
    assert_eq!((connect.as_secs(), total.as_secs()), (3, 10));
}

#[tokio::test]
async fn a_server_that_never_responds_times_out() {
    let server = Server::start(wait);
    assert_unavailable_after(SHORT, &with_deadlines(LONG, SHORT), &server.url()).await;
}

#[rstest]
#[case("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "1\r\n1\r\n")]
#[case("HTTP/1.1 200 OK\r\n", "x-more: of it\r\n")]
#[tokio::test]
async fn a_slow_server_times_out(#[case] head: &'static str, #[case] part: &'static str) {
    let server = Server::start(move |connection| {
        connection.write_all(head.as_bytes())?;
        connection.set_read_timeout(Some(SHORT / 30))?;
        loop {
            connection.write_all(part.as_bytes())?;
            // The client sends nothing, so the read only paces the loop.
            match connection.read(&mut [0; 1]) {
                Ok(_closed) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    });
    assert_unavailable_after(SHORT, &with_deadlines(LONG, SHORT), &server.url()).await;
}

#[tokio::test]
async fn an_unfinished_handshake_times_out_sooner() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/keys", silent.local_addr().unwrap());
    assert_unavailable_after(SHORT, &with_deadlines(SHORT, LONG), &url).await;
}

#[tokio::test]
async fn a_closed_port_is_unavailable_at_once() {
    // It is bound, so that no other program uses the port, and never listens.
    let deaf = TcpSocket::new_v4().unwrap();
    deaf.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}/keys", deaf.local_addr().unwrap());
    assert_unavailable_after(Duration::ZERO, &with_deadlines(LONG, LONG), &url).await;
}
