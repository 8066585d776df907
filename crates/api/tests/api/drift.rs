//! The published document, the routes and the responses agree.

use std::collections::BTreeSet;

use jsonschema::{Draft, Validator};
use serde_json::json;

use crate::{
    api_server::ApiServer,
    documented::{document, resolved},
    operations::{self, Operation, TestResources},
};

#[tokio::test(flavor = "multi_thread")]
async fn every_documented_operation_succeeds_as_documented() {
    let api = ApiServer::start().await;
    for operation in operations::all() {
        let resources = TestResources::make(&api).await;
        let response = operation.request(&api.writer(), &resources).send().await;
        let status = operation.success();
        assert_eq!(
            response.status,
            status,
            "{}: {}",
            operation.id,
            response.text()
        );
        let content = &operation.described["responses"][&status.to_string()]["content"];
        let Some(content) = content.as_object() else {
            assert!(
                response.body.is_empty(),
                "{}: {}",
                operation.id,
                response.text()
            );
            continue;
        };
        let media_type = response
            .header("content-type")
            .split(';')
            .next()
            .unwrap_or_default();
        let described = content.get(media_type).or(content.get("*/*"));
        let described =
            described.unwrap_or_else(|| panic!("{} answers {media_type}", operation.id));
        if content.contains_key("application/json") {
            let validator = validator(&operation, &described["schema"]);
            let faults: Vec<String> = validator
                .iter_errors(&response.json())
                .map(|error| format!("{} at {}", error, error.instance_path()))
                .collect();
            assert_eq!(faults, Vec::<String>::new(), "{}", operation.id);
        }
    }
    api.stop().await;
}

fn validator(operation: &Operation, schema: &serde_json::Value) -> Validator {
    let whole = json!({"allOf": [schema], "components": document()["components"]});
    let options = jsonschema::options().with_draft(Draft::Draft202012);
    let built = options.should_validate_formats(true).build(&whole);
    built.unwrap_or_else(|error| panic!("the schema of {}: {error}", operation.id))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_accepts_only_the_documented_methods() {
    let api = ApiServer::start().await;
    let resources = TestResources::make(&api).await;
    for (template, item) in document()["paths"].as_object().expect("paths") {
        let methods = item.as_object().expect("an item").keys();
        let mut expected: BTreeSet<String> = methods.map(|method| method.to_uppercase()).collect();
        if expected.contains("GET") {
            expected.insert("HEAD".to_owned());
        }
        expected.insert("OPTIONS".to_owned());
        let operations = operations::all();
        let operation = operations
            .iter()
            .find(|operation| operation.template == template);
        let path = operation.expect("an operation").path(&resources);
        let options = api.anonymous().request("OPTIONS", &path).send().await;
        assert_eq!((options.status, options.body.len()), (204, 0), "{path}");
        let allowed: BTreeSet<String> = options
            .header("allow")
            .split(", ")
            .map(ToOwned::to_owned)
            .collect();
        assert_eq!(allowed, expected, "{path}");
        for method in [
            "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW",
        ] {
            if expected.contains(method) {
                continue;
            }
            let response = api.anonymous().request(method, &path).send().await;
            assert_eq!(response.status, 405, "{method} {path}");
            assert_eq!(
                response.header("allow"),
                options.header("allow"),
                "{method} {path}"
            );
        }
    }
    api.stop().await;
}

#[test]
fn every_promised_header_has_a_component() {
    for operation in operations::all() {
        let responses = operation.described["responses"]
            .as_object()
            .expect("responses");
        for (status, response) in responses {
            let headers = response["headers"].as_object();
            let headers = headers.unwrap_or_else(|| panic!("{} {status}", operation.id));
            assert!(
                headers.contains_key("X-Request-Id"),
                "{} {status}",
                operation.id
            );
            for header in headers.values() {
                assert!(
                    resolved(header)["schema"].is_object(),
                    "{} {status}",
                    operation.id
                );
            }
        }
    }
}
