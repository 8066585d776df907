use std::collections::BTreeSet;

use kit::body::Schemas;
use serde_json::{Value, json};
use socket::frames::{self, COMMANDS, components, read};

use super::document;
use crate::openapi::tests::published_document;

const URL: &str = "https://agents.example.org/v";

fn openapi() -> Value {
    published_document(URL)
}

fn published() -> Value {
    document(&openapi(), URL).unwrap()
}

fn messages(document: &Value) -> impl Iterator<Item = (&String, &Value)> {
    document["components"]["messages"]
        .as_object()
        .unwrap()
        .iter()
}

/// A validator for each message, by its key.
fn schemas(document: &Value) -> Schemas {
    let mut schemas = document["components"]["schemas"].clone();
    let mut keys = Vec::new();
    for (key, message) in messages(document) {
        let name = format!("message:{key}");
        schemas[&name] = message["payload"].clone();
        keys.push(name);
    }
    let names: Vec<&str> = keys.iter().map(String::as_str).collect();
    Schemas::new(&json!({"components": {"schemas": schemas}}), &names).unwrap()
}

#[test]
fn every_example_matches_the_schema_and_type_of_its_message() {
    let document = published();
    let schemas = schemas(&document);
    for (key, message) in messages(&document) {
        let examples = message["examples"].as_array().unwrap();
        assert!(!examples.is_empty(), "{key} has no example");
        for example in examples {
            let payload = &example["payload"];
            let faults = schemas.check(&format!("message:{key}"), payload);
            assert_eq!(faults, [], "{key}: {payload}");
            let component = message["payload"]["$ref"].as_str().unwrap();
            let schema = document.pointer(component.trim_start_matches('#')).unwrap();
            let published = &schema["properties"]["type"]["const"];
            assert!(
                published.is_null() || *published == payload["type"],
                "{key}"
            );
        }
    }
}

#[test]
fn the_error_reply_contains_the_retry_delay() {
    let document = published();
    let schemas = schemas(&document);
    let mut reply = document["components"]["messages"]["errorReply"]["examples"][0].clone();
    let error = &mut reply["payload"]["error"];
    assert_eq!(error["retryAfter"], 1);
    assert_eq!(error["violatedPolicies"], json!(["commands"]));
    assert_eq!(error["detail"], "Wait for the seconds in `retryAfter`.");
    error["retryAfter"] = "soon".into();
    let faults = schemas.check("message:errorReply", &reply["payload"]);
    assert_eq!(faults.len(), 1, "{faults:?}");
}

#[test]
fn every_documented_command_can_be_parsed() {
    let frames = frames::document(&openapi()).unwrap();
    let names: Vec<&str> = components().collect();
    let schemas = Schemas::new(&frames, &names).unwrap();
    let document = published();
    for (name, _) in COMMANDS {
        let message = &document["components"]["messages"][*name];
        for example in message["examples"].as_array().unwrap() {
            let text = example["payload"].to_string();
            let frame = read(&text, &schemas);
            assert_eq!(
                frame.map(|frame| frame.id).ok(),
                example["payload"]["id"].as_u64()
            );
        }
    }
}

#[test]
fn every_frame_of_the_server_is_a_message() {
    let frames = frames::document(&openapi()).unwrap();
    let all = &frames["components"]["schemas"];
    let types = |union: &str| -> BTreeSet<String> {
        let text = all[union].to_string();
        let kinds = text.split(r#""enum":[""#).skip(1);
        kinds
            .map(|rest| rest.split('"').next().unwrap().to_owned())
            .collect()
    };
    let document = published();
    let mut types_sent = BTreeSet::new();
    let mut live = BTreeSet::new();
    let channel = document["channels"]["socket"]["messages"]
        .as_object()
        .unwrap();
    for key in channel
        .keys()
        .filter(|key| COMMANDS.iter().all(|(name, _)| name != key))
    {
        let example = &document["components"]["messages"][key]["examples"][0]["payload"];
        types_sent.insert(example["type"].as_str().unwrap().to_owned());
        if example["type"] == "live" {
            live.insert(example["event"]["type"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(types_sent, types("ServerFrame"));
    assert_eq!(live, types("LiveEvent"));
}

#[test]
fn every_message_belongs_to_an_operation() {
    let document = published();
    let mut used = BTreeSet::new();
    for operation in document["operations"].as_object().unwrap().values() {
        for messages in [&operation["messages"], &operation["reply"]["messages"]] {
            for message in messages.as_array().into_iter().flatten() {
                let target = message["$ref"].as_str().unwrap().trim_start_matches('#');
                let referenced = document.pointer(target).expect(target);
                let component = referenced["$ref"].as_str().unwrap().trim_start_matches('#');
                assert!(document.pointer(component).is_some(), "{component}");
                used.insert(component.rsplit('/').next().unwrap().to_owned());
            }
        }
    }
    let all: BTreeSet<String> = messages(&document).map(|(key, _)| key.clone()).collect();
    assert_eq!(used, all);
}

#[test]
fn the_components_are_exactly_those_that_the_document_refers_to() {
    let document = published();
    let text = document.to_string();
    let referenced: BTreeSet<&str> = text
        .split("#/components/schemas/")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let present: BTreeSet<&str> = schemas.keys().map(String::as_str).collect();
    assert_eq!(referenced, present);
}

#[test]
fn the_servers_have_the_url_of_each_protocol() {
    let servers = &published()["servers"];
    assert_eq!(servers["socket"]["host"], "agents.example.org");
    assert_eq!(servers["socket"]["protocol"], "wss");
    assert_eq!(servers["socket"]["pathname"], "/v");
    assert_eq!(servers["http"]["protocol"], "https");
    let local = document(&openapi(), "http://127.0.0.1:8080").unwrap();
    assert_eq!(local["servers"]["socket"]["protocol"], "ws");
    assert_eq!(local["servers"]["socket"]["host"], "127.0.0.1:8080");
    assert_eq!(local["servers"]["socket"]["pathname"], Value::Null);
}
