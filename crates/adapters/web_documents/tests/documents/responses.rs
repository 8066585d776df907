//! Valid and invalid documents.

use std::io::Write as _;

use ports::{DocumentError, DocumentSource as _, UrlTrust, document_source::MAX_DOCUMENT_BYTES};
use rstest::rstest;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use web_documents::WebDocuments;

use crate::{error_texts, fetch, server::Server};

/// A JSON string of this total length.
fn document_of(bytes: usize) -> String {
    format!("\"{}\"", "x".repeat(bytes - 2))
}

#[track_caller]
fn assert_bad(error: &DocumentError, why: &str) {
    let text = format!("the server's response is unusable: {why}");
    assert_eq!(error_texts(error), (text.clone(), text));
}

#[tokio::test]
async fn a_document_is_requested_and_read() {
    let server = Server::with_body("200 OK", r#"{"keys": ["ключ"]}"#);
    assert_eq!(fetch(&server).await.unwrap(), json!({ "keys": ["ключ"] }));
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    let head = requests[0].to_lowercase();
    assert!(head.starts_with("get /keys?all=yes http/1.1\r\n"), "{head}");
    assert!(head.contains("\r\naccept: application/json\r\n"), "{head}");
    assert!(head.contains("\r\naccept-encoding: identity\r\n"), "{head}");
}

#[tokio::test]
async fn each_fetch_sends_a_request() {
    let server = Server::with_body("200 OK", "1");
    let (documents, url) = (WebDocuments::new(Vec::new()), server.url());
    for _ in 0..3 {
        let fetched = documents.fetch(&url, UrlTrust::Operator).await;
        assert_eq!(fetched.unwrap(), json!(1));
    }
    assert_eq!(server.requests().len(), 3);
}

#[rstest]
#[case("404 Not Found")]
#[case("500 Internal Server Error")]
#[case("201 Created")]
#[case("204 No Content")]
#[case("401 Unauthorized")]
#[tokio::test]
async fn any_other_status_is_rejected(#[case] status: &str) {
    let server = Server::with_body(status, "{}");
    let error = fetch(&server).await.unwrap_err();
    assert_bad(&error, &format!("its status is {}", &status[..3]));
}

#[rstest]
#[tokio::test]
async fn a_redirect_is_rejected_and_not_followed(#[values(301, 302, 303, 307, 308)] status: u16) {
    let target = Server::with_body("200 OK", "{}");
    let location = target.url();
    let server = Server::responding(format!(
        "HTTP/1.1 {status} Elsewhere\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
    ));
    let error = fetch(&server).await.unwrap_err();
    assert_bad(&error, &format!("its status is {status}"));
    assert!(target.requests().is_empty());
}

#[tokio::test]
async fn the_largest_document_is_read_and_a_larger_one_is_not() {
    let largest = document_of(MAX_DOCUMENT_BYTES);
    let server = Server::with_body("200 OK", &largest);
    let fetched = fetch(&server).await.unwrap();
    assert_eq!(fetched.to_string(), largest);
    let server = Server::with_body("200 OK", &document_of(MAX_DOCUMENT_BYTES + 1));
    assert_bad(&fetch(&server).await.unwrap_err(), "it is too large");
}

#[rstest]
#[case::without_a_length("")]
#[case::in_chunks("transfer-encoding: chunked\r\n")]
#[tokio::test]
async fn a_large_document_without_a_length_is_rejected(#[case] header: &str) {
    let body = document_of(600 * 1024);
    let framed = if header.is_empty() {
        body
    } else {
        format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len())
    };
    let server = Server::responding(format!("HTTP/1.1 200 OK\r\n{header}\r\n{framed}"));
    assert_bad(&fetch(&server).await.unwrap_err(), "it is too large");
}

/// A server that sends until the client disconnects, and then reports the number of bytes.
fn endless(head: &'static str, part: Vec<u8>) -> (Server, UnboundedReceiver<usize>) {
    let (ended, end) = unbounded_channel();
    let server = Server::start(move |connection| {
        connection.write_all(head.as_bytes())?;
        let mut sent = 0;
        let error = loop {
            match connection.write_all(&part) {
                Ok(()) => sent += part.len(),
                Err(error) => break error,
            }
        };
        ended.send(sent).expect("the test waits");
        Err(error)
    });
    (server, end)
}

#[rstest]
#[case("HTTP/1.1 200 OK\r\n\r\n", vec![b'1'; 1024])]
#[case("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"10\r\n1234567890123456\r\n".repeat(100))]
#[tokio::test]
async fn an_endless_body_is_cut_off(#[case] head: &'static str, #[case] part: Vec<u8>) {
    let (server, mut end) = endless(head, part);
    assert_bad(&fetch(&server).await.unwrap_err(), "it is too large");
    assert!(end.recv().await.unwrap() > MAX_DOCUMENT_BYTES);
}

#[tokio::test]
async fn endless_headers_are_cut_off() {
    let (server, mut end) = endless("HTTP/1.1 200 OK\r\n", b"x-more: of it\r\n".repeat(100));
    let error = fetch(&server).await.unwrap_err();
    assert!(matches!(error, DocumentError::Unavailable(_)), "{error:?}");
    end.recv().await.unwrap();
}

#[tokio::test]
async fn a_content_length_that_is_too_large_is_rejected_at_once() {
    // The body is never sent.
    let server = Server::start(|connection| {
        connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999999\r\n\r\n")?;
        std::io::copy(connection, &mut std::io::sink()).map(|_| ())
    });
    assert_bad(&fetch(&server).await.unwrap_err(), "it is too large");
}

#[tokio::test]
async fn a_body_is_read_up_to_its_content_length() {
    let body = document_of(600 * 1024);
    let server = Server::responding(format!(
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{body}"
    ));
    assert_bad(&fetch(&server).await.unwrap_err(), "it is not JSON");
}

#[tokio::test]
async fn a_body_shorter_than_its_content_length_is_unavailable() {
    let server = Server::responding("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}");
    let error = fetch(&server).await.unwrap_err();
    assert!(matches!(error, DocumentError::Unavailable(_)), "{error:?}");
}

#[rstest]
#[case::nothing(b"")]
#[case::a_page(b"<!doctype html><title>Sign in</title>")]
#[case::half(b"{\"keys\": [")]
#[case::more(b"{} {}")]
#[case::byte_order_mark(b"\xef\xbb\xbf{}")]
#[case::latin_1(b"{\"name\": \"M\xfcller\"}")]
#[case::utf_16(b"\xff\xfe{\0}\0")]
#[case::compressed(b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xab\xae\x05\0\x43\xbf\xa6\xa3\x02\0\0\0")]
#[tokio::test]
async fn a_body_that_is_not_utf_8_json_is_rejected(#[case] body: &[u8]) {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    let server = Server::responding([head.as_bytes(), body].concat());
    assert_bad(&fetch(&server).await.unwrap_err(), "it is not JSON");
}

#[tokio::test]
async fn deep_nesting_is_rejected() {
    let server = Server::with_body("200 OK", &"[".repeat(MAX_DOCUMENT_BYTES));
    assert_bad(&fetch(&server).await.unwrap_err(), "it is not JSON");
}

#[tokio::test]
async fn a_response_that_is_not_http_is_unavailable_without_details() {
    let server = Server::responding("SSH-2.0-OpenSSH_10.0\r\n");
    let error = fetch(&server).await.unwrap_err();
    let (text, logged) = error_texts(&error);
    assert_eq!(text, "the server does not respond");
    assert!(logged.len() > text.len(), "{logged}");
    assert!(!logged.contains("all=yes"), "the log shows {logged}");
}
