//! The real document.

use kit::body::Schemas;
use serde_json::{Value, json};

use super::published_document;
use crate::openapi::BODIES;

fn published() -> Value {
    published_document("http://localhost:8080")
}

fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let target = value["$ref"].as_str();
    target.map_or(value, |it| {
        document.pointer(it.trim_start_matches('#')).unwrap()
    })
}

#[test]
fn every_request_body_can_be_checked() {
    Schemas::new(&published(), BODIES).unwrap();
}

#[test]
fn ids_of_users_and_names_of_tools_have_no_control_characters() {
    let schemas = Schemas::new(&published(), BODIES).unwrap();
    for letter in ["\t", "\n", "\r", "\u{7f}"] {
        let name = format!("a{letter}b");
        for (body, value, pointer) in [
            (
                "ChatRequest",
                json!({"agentId": "1", "message": "Hello", "userId": name}),
                "/userId",
            ),
            (
                "ConversationRequest",
                json!({"agentId": "1", "userId": name}),
                "/userId",
            ),
            (
                "RuleTestRequest",
                json!({"message": "Hello", "userId": name}),
                "/userId",
            ),
            ("UserTokenDraft", json!({"userId": name}), "/userId"),
            (
                "ConfigBody",
                json!({"tools": [{"name": name}]}),
                "/tools/0/name",
            ),
        ] {
            let faults = schemas.check(body, &value);
            let faults: Vec<_> = faults
                .iter()
                .map(|it| (&*it.pointer, &*it.detail))
                .collect();
            let expected = [(pointer, "must not contain control characters")];
            assert_eq!(faults, expected, "{body}");
        }
    }
}

#[test]
fn no_component_is_named_after_a_collection_of_the_language() {
    let document = published();
    let components = document["components"]["schemas"].as_object().unwrap();
    for name in ["BTreeMap", "HashMap", "Vec", "Option", "Map", "Value"] {
        // `Metadata`, for one, is `#[schema(value_type = domain::config::MetadataSchema)]`.
        let advice = "name the schema of its members by `#[schema(value_type = …)]`";
        assert!(!components.contains_key(name), "'{name}': {advice}");
    }
}

#[test]
fn a_chat_without_a_reply_reports_its_turn() {
    let document = published();
    let responses = &document["paths"]["/api/chat"]["post"]["responses"];
    let of = |status: &str| {
        let schema = &resolved(&document, &responses[status])["content"]["application/problem+json"]
            ["schema"];
        schema["$ref"].as_str().unwrap().to_owned()
    };
    for status in ["409", "500", "502", "503", "504"] {
        assert_eq!(of(status), "#/components/schemas/ChatProblem");
    }
    for status in ["404", "422"] {
        assert_eq!(of(status), "#/components/schemas/Problem");
    }
    let members = &document["components"]["schemas"]["ChatProblem"]["allOf"][1]["properties"];
    for member in ["turnId", "conversationId"] {
        assert_eq!(resolved(&document, &members[member])["type"], "string");
    }
}

/// Swagger UI would send such a value with every request.
#[test]
fn no_optional_parameter_has_a_value_to_prefill() {
    let document = published();
    let components = document["components"]["parameters"].as_object().unwrap();
    let operations = document["paths"].as_object().unwrap().values();
    let operations = operations.flat_map(|item| item.as_object().unwrap().values());
    let own = operations.flat_map(|operation| operation["parameters"].as_array().unwrap());
    let optional = components
        .values()
        .chain(own)
        .filter(|parameter| parameter["required"] != true && parameter["$ref"].is_null());
    let mut count = 0;
    for parameter in optional {
        count += 1;
        for (holder, keyword) in [
            (parameter, "example"),
            (parameter, "examples"),
            (&parameter["schema"], "default"),
            (&parameter["schema"], "example"),
            (&parameter["schema"], "examples"),
        ] {
            assert!(holder[keyword].is_null(), "{keyword} of {parameter}");
        }
    }
    assert!(count > 10, "{count} parameters");
}

#[test]
fn every_number_that_a_client_sends_is_bounded_as_its_type_is() {
    let document = published();
    for body in BODIES {
        let pointer = format!("/components/schemas/{body}");
        assert_bounded(&document, document.pointer(&pointer).unwrap(), body);
    }
}

fn assert_bounded(document: &Value, schema: &Value, location: &str) {
    let has_type = |name: &str| match &schema["type"] {
        Value::Array(types) => types.iter().any(|each| each == name),
        single => single == name,
    };
    if has_type("integer") {
        let bounded = schema["minimum"].is_number() && schema["maximum"].is_number();
        assert!(bounded, "{location} has no bounds");
    }
    if schema["$ref"].is_string() {
        assert_bounded(document, resolved(document, schema), location);
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        assert_bounded(document, member, &format!("{location}.{name}"));
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get(keyword) {
            assert_bounded(document, inner, &format!("{location}.{keyword}"));
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        for alternative in schema[keyword].as_array().into_iter().flatten() {
            assert_bounded(document, alternative, location);
        }
    }
}
