//! The influence of environment variables. They can only be set for another process, so each test
//! runs itself again in one.

use std::{env, process::Command};

use ports::{DocumentSource as _, UrlTrust};
use serde_json::json;
use web_documents::WebDocuments;

use crate::{error_texts, fetch, server::Server};

/// Marks the other process.
const MARK: &str = "WEB_DOCUMENTS_AGAIN";

/// Returns whether this is the other process; if not, runs `test` there with these variables.
fn is_child_process(test: &str, variables: &[(&str, &str)]) -> bool {
    if env::var_os(MARK).is_some() {
        return true;
    }
    let program = env::current_exe().expect("this program");
    let output = Command::new(program)
        .args(["--exact", test])
        .env_remove("no_proxy")
        .env_remove("NO_PROXY")
        .envs(variables.iter().copied())
        .env(MARK, "1")
        .output()
        .expect("this program runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("1 passed"), "{printed}");
    false
}

#[tokio::test]
async fn the_proxy_of_the_environment_is_ignored() {
    let proxy = "http://127.0.0.1:1";
    let variables = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"].map(|it| (it, proxy));
    if is_child_process(
        "environment::the_proxy_of_the_environment_is_ignored",
        &variables,
    ) {
        let server = Server::with_body("200 OK", "{}");
        assert_eq!(fetch(&server).await.unwrap(), json!({}));
    }
}

#[tokio::test]
async fn missing_certificates_are_logged() {
    let name = "environment::missing_certificates_are_logged";
    let nowhere = [("SSL_CERT_FILE", "/dev/null"), ("SSL_CERT_DIR", "/nowhere")];
    if is_child_process(name, &nowhere) {
        let documents = WebDocuments::new(Vec::new());
        let fetched = documents.fetch("https://127.0.0.1:1/", UrlTrust::Operator);
        let (text, logged) = error_texts(&fetched.await.unwrap_err());
        assert_eq!(text, "the server does not respond");
        assert!(logged.contains("No CA certificates"), "{logged}");
    }
}
