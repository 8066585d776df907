//! The document of what is said in real time, as others' tools read it.

use std::{path::Path, sync::LazyLock};

use serde_json::{Value, json};

use crate::{documented, harness::Api, openapi::first_difference, partner};

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let openapi = documented::document();
    api::asyncapi::document(openapi, "http://127.0.0.1:8080").expect("the document can be made")
});

/// The document of a server with the default sizes.
pub(crate) fn document() -> &'static Value {
    &DOCUMENT
}

#[test]
fn the_committed_document_is_the_present_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../asyncapi.json");
    let committed = std::fs::read_to_string(path).expect("asyncapi.json at the root");
    let committed: Value = serde_json::from_str(&committed).expect("JSON");
    let difference = first_difference(&committed, document(), String::new());
    assert_eq!(difference, None, "write it with `cargo xtask openapi`");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_served_document_names_the_address_of_its_server() {
    let api = Api::start().await;
    let served = api.anonymous().get("/asyncapi.json").await.ok();
    let url = format!("http://{}", api.address);
    let socket = &served["servers"]["socket"];
    assert_eq!(socket["host"], json!(api.address.to_string()));
    assert_eq!(socket["protocol"], "ws");
    let expected = api::asyncapi::document(&openapi_of(&url), &url).expect("a document");
    assert_eq!(first_difference(&served, &expected, String::new()), None);
    let console = api.anonymous().get("/").await;
    assert!(console.text().contains("href=\"/asyncapi.json\""));
    api.stop().await;
}

fn openapi_of(url: &str) -> Value {
    api::openapi::document(&domain::Sizes::default(), url).expect("a document")
}

/// What the parser of the AsyncAPI initiative finds wrong, but for hints.
async fn faults(document: &Value) -> (Vec<Value>, Value) {
    let told = partner::run("asyncapi.mjs", &[], document).await;
    let diagnostics = told["diagnostics"].as_array().expect("diagnostics");
    let is_grave = |it: &&Value| it["severity"].as_u64().expect("a severity") <= 1;
    (diagnostics.iter().filter(is_grave).cloned().collect(), told)
}

#[tokio::test]
async fn the_parser_of_others_reads_it_without_a_complaint() {
    let (found, told) = faults(document()).await;
    assert_eq!(found, Vec::<Value>::new());
    assert_eq!(told["channels"], json!(["chat", "events", "socket"]));
    for (member, place) in [
        ("operations", "/operations"),
        ("messages", "/components/messages"),
    ] {
        let described = document().pointer(place).and_then(Value::as_object);
        let names: Vec<&String> = described.expect(place).keys().collect();
        assert_eq!(told[member].as_array().expect(member).len(), names.len());
    }
}

#[tokio::test]
async fn the_parser_of_others_complains_of_a_broken_one() {
    let mut broken = document().clone();
    broken["components"]["messages"]["event"]["payload"]["type"] = json!("nothing");
    broken["operations"]["sendEvent"]["action"] = json!("whisper");
    let (found, _) = faults(&broken).await;
    assert!(!found.is_empty());
}
