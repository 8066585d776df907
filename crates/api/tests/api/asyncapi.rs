//! The AsyncAPI document, read by external tools.

use std::{path::Path, sync::LazyLock};

use serde_json::{Value, json};

use crate::{api_server::ApiServer, child_program, documented, openapi::first_difference};

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let openapi = documented::document();
    documents::asyncapi::document(openapi, "http://127.0.0.1:8080")
        .expect("the document can be made")
});

/// The document of a server with the default sizes.
pub(crate) fn document() -> &'static Value {
    &DOCUMENT
}

#[test]
fn the_committed_document_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../asyncapi.json");
    let committed = std::fs::read_to_string(path).expect("asyncapi.json at the root");
    let committed: Value = serde_json::from_str(&committed).expect("JSON");
    let difference = first_difference(&committed, document(), String::new());
    assert_eq!(difference, None, "write it with `cargo xtask openapi`");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_served_document_has_the_address_of_its_server() {
    let api = ApiServer::start().await;
    let served = api.anonymous().get("/asyncapi.json").await.ok();
    let url = format!("http://{}", api.address);
    let socket = &served["servers"]["socket"];
    assert_eq!(socket["host"], json!(api.address.to_string()));
    assert_eq!(socket["protocol"], "ws");
    let expected = documents::asyncapi::document(&openapi_of(&url), &url).expect("a document");
    assert_eq!(first_difference(&served, &expected, String::new()), None);
    let console = api.anonymous().get("/").await;
    assert!(console.text().contains("href=\"/asyncapi.json\""));
    api.stop().await;
}

fn openapi_of(url: &str) -> Value {
    documents::openapi::document(&domain::Sizes::default(), url).expect("a document")
}

/// The errors that the official AsyncAPI parser finds, without hints.
async fn faults(document: &Value) -> (Vec<Value>, Value) {
    let received = child_program::run("asyncapi.mjs", &[], document).await;
    let diagnostics = received["diagnostics"].as_array().expect("diagnostics");
    let is_grave = |it: &&Value| it["severity"].as_u64().expect("a severity") <= 1;
    (
        diagnostics.iter().filter(is_grave).cloned().collect(),
        received,
    )
}

#[tokio::test]
async fn the_official_parser_accepts_the_document() {
    let (found, received) = faults(document()).await;
    assert_eq!(found, Vec::<Value>::new());
    assert_eq!(received["channels"], json!(["chat", "events", "socket"]));
    for (member, pointer) in [
        ("operations", "/operations"),
        ("messages", "/components/messages"),
    ] {
        let described = document().pointer(pointer).and_then(Value::as_object);
        let names: Vec<&String> = described.expect(pointer).keys().collect();
        assert_eq!(
            received[member].as_array().expect(member).len(),
            names.len()
        );
    }
}

#[tokio::test]
async fn the_official_parser_rejects_a_broken_document() {
    let mut broken = document().clone();
    broken["components"]["messages"]["event"]["payload"]["type"] = json!("nothing");
    broken["operations"]["sendEvent"]["action"] = json!("whisper");
    let (found, _) = faults(&broken).await;
    assert!(!found.is_empty());
}
