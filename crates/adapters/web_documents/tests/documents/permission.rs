//! Permissions of connections. The tables of URLs are tested beside the code.

use ports::{DocumentError, DocumentSource as _, UrlTrust};
use rstest::rstest;
use serde_json::json;
use web_documents::WebDocuments;

use crate::{error_texts, server::Server};

#[rstest]
#[case("https://127.0.0.1:PORT/")]
#[case("https://127.1:PORT/")]
#[case("https://2130706433:PORT/")]
#[case("https://0x7f.0.0.1:PORT/")]
#[case("https://[::ffff:127.0.0.1]:PORT/")]
#[case("https://0.0.0.0:PORT/")]
#[case("https://[::]:PORT/")]
#[case("https://[::1]:PORT/")]
#[case("https://localhost:PORT/")]
#[case("https://LOCALHOST:PORT/")]
#[case("https://10.0.0.1:PORT/")]
#[case("http://127.0.0.1:PORT/")]
#[case("http://localhost:PORT/")]
#[case("http://user@127.0.0.1:PORT/")]
#[case("HTTP://[::1]:PORT/")]
#[case("not an address")]
#[case("")]
#[tokio::test]
async fn a_tenant_cannot_reach_this_machine_or_its_network(#[case] url: &str) {
    let server = Server::with_body("200 OK", "{}");
    let url = url.replace("PORT", &server.port().to_string());
    let documents = WebDocuments::new(vec!["issuer.internal".to_owned(), "localhost:1".to_owned()]);
    let is_name = url.to_ascii_lowercase().starts_with("https://localhost");
    assert_eq!(documents.is_allowed(&url, UrlTrust::Tenant), is_name);
    let error = documents.fetch(&url, UrlTrust::Tenant).await.unwrap_err();
    assert!(matches!(error, DocumentError::Forbidden), "{error:?}");
    assert_eq!(error_texts(&error).1, "this address is not allowed");
    assert_no_connection(&server).await;
}

/// Sends another request and checks that it is the first: the server accepts one connection after
/// another.
async fn assert_no_connection(server: &Server) {
    let documents = WebDocuments::new(Vec::new());
    let fetched = documents.fetch(&server.url(), UrlTrust::Operator).await;
    assert_eq!(fetched.expect("a document"), json!({}));
    assert_eq!(server.requests().len(), 1, "{:?}", server.requests());
}

#[rstest]
#[case("127.0.0.1")]
#[case("localhost")]
#[tokio::test]
async fn a_tenant_reaches_a_host_that_the_operator_allowed(#[case] host: &str) {
    let server = Server::with_body("200 OK", r#"{"keys": []}"#);
    let authority = format!("{host}:{}", server.port());
    let documents = WebDocuments::new(vec![authority.clone()]);
    let url = format!("http://{authority}/keys");
    assert!(documents.is_allowed(&url, UrlTrust::Tenant));
    let fetched = documents.fetch(&url, UrlTrust::Tenant).await;
    assert_eq!(fetched.unwrap(), json!({ "keys": [] }));
}

#[tokio::test]
async fn a_redirect_of_an_allowed_host_is_not_followed() {
    let hidden = Server::with_body("200 OK", r#"{"secret": true}"#);
    let location = hidden.url();
    let server = Server::responding(format!(
        "HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
    ));
    let documents = WebDocuments::new(vec![format!("127.0.0.1:{}", server.port())]);
    let error = documents.fetch(&server.url(), UrlTrust::Tenant).await;
    assert!(matches!(error, Err(DocumentError::InvalidResponse(_))));
    assert!(hidden.requests().is_empty());
}

#[rstest]
#[case("http://issuer.example/keys")]
#[case("http://10.0.0.1/keys")]
#[case("file:///etc/hostname")]
#[tokio::test]
async fn operators_may_use_plain_http_only_on_this_machine(#[case] url: &str) {
    let documents = WebDocuments::new(Vec::new());
    let error = documents.fetch(url, UrlTrust::Operator).await.unwrap_err();
    assert!(matches!(error, DocumentError::Forbidden), "{error:?}");
}
