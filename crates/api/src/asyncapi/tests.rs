use std::collections::BTreeSet;

use domain::Sizes;
use serde_json::{Value, json};

use super::document;
use crate::{
    body::Schemas,
    socket::frames::{self, COMMANDS, components, read},
};

const URL: &str = "https://agents.example.org/v";

fn openapi() -> Value {
    crate::openapi::document(&Sizes::default(), URL).unwrap()
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
fn every_example_is_valid_and_of_its_own_message() {
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
            let said = &schema["properties"]["type"]["const"];
            assert!(said.is_null() || *said == payload["type"], "{key}");
        }
    }
}

#[test]
fn a_refusal_says_when_to_try_again() {
    let document = published();
    let schemas = schemas(&document);
    let mut refusal = document["components"]["messages"]["errorReply"]["examples"][0].clone();
    let error = &mut refusal["payload"]["error"];
    assert_eq!(error["retryAfter"], 1);
    assert_eq!(error["violatedPolicies"], json!(["commands"]));
    assert_eq!(error["detail"], "Wait for the seconds in `retryAfter`.");
    error["retryAfter"] = "soon".into();
    let faults = schemas.check("message:errorReply", &refusal["payload"]);
    assert_eq!(faults.len(), 1, "{faults:?}");
}

#[test]
fn every_command_of_the_document_is_understood() {
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
    let mut told = BTreeSet::new();
    let mut live = BTreeSet::new();
    let channel = document["channels"]["socket"]["messages"]
        .as_object()
        .unwrap();
    for key in channel
        .keys()
        .filter(|key| COMMANDS.iter().all(|(name, _)| name != key))
    {
        let example = &document["components"]["messages"][key]["examples"][0]["payload"];
        told.insert(example["type"].as_str().unwrap().to_owned());
        if example["type"] == "live" {
            live.insert(example["event"]["type"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(told, types("ServerFrame"));
    assert_eq!(live, types("LiveEvent"));
}

#[test]
fn every_message_is_said_in_an_operation() {
    let document = published();
    let mut said = BTreeSet::new();
    for operation in document["operations"].as_object().unwrap().values() {
        for place in [&operation["messages"], &operation["reply"]["messages"]] {
            for message in place.as_array().into_iter().flatten() {
                let target = message["$ref"].as_str().unwrap().trim_start_matches('#');
                let referred = document.pointer(target).expect(target);
                let component = referred["$ref"].as_str().unwrap().trim_start_matches('#');
                assert!(document.pointer(component).is_some(), "{component}");
                said.insert(component.rsplit('/').next().unwrap().to_owned());
            }
        }
    }
    let all: BTreeSet<String> = messages(&document).map(|(key, _)| key.clone()).collect();
    assert_eq!(said, all);
}

#[test]
fn it_refers_to_no_component_that_it_lacks_and_has_none_that_it_does_not_need() {
    let document = published();
    let text = document.to_string();
    let referred: BTreeSet<&str> = text
        .split("#/components/schemas/")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let there: BTreeSet<&str> = schemas.keys().map(String::as_str).collect();
    assert_eq!(referred, there);
}

#[test]
fn it_names_the_server_as_each_protocol_does() {
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
