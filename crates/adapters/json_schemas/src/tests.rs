use std::time::Instant;

use rstest::rstest;
use serde_json::{Map, json};

use super::*;

fn schema(value: Value) -> ResponseSchema {
    serde_json::from_value(value).unwrap()
}

async fn faults(by: Value, text: &str) -> Vec<(String, String)> {
    let by = schema(by);
    assert_eq!(by.fault(), None);
    let schemas = PooledSchemaChecker::new().unwrap();
    let tenant = "default".parse().unwrap();
    let checked = schemas.check_output(&tenant, &by, text.to_owned());
    let faults = checked.await.unwrap().err().unwrap_or_default();
    let pairs = faults.into_iter().map(|it| (it.pointer, it.detail));
    pairs.collect()
}

#[tokio::test]
async fn an_output_is_the_value_of_a_text_that_satisfies_the_schema() {
    let by = schema(json!({"type": ["object", "null"], "required": ["a"]}));
    let schemas = PooledSchemaChecker::new().unwrap();
    let tenant = "default".parse().unwrap();
    for (text, expected) in [(" {\"a\": 1}\n", json!({"a": 1})), ("null", json!(null))] {
        let checked = schemas.check_output(&tenant, &by, text.to_owned()).await;
        assert_eq!(checked.unwrap(), Ok(expected), "{text}");
    }
}

#[rstest]
#[case("", "")]
#[case("Here it is: {}", "")]
#[case("```json\n{\"a\": 1}\n```", "")]
#[case("{\"a\": 1", "")]
#[case("{\"a\": \"x\"}", "/a")]
#[case("{\"a\": 18446744073709551616}", "")]
#[case("{}", "")]
#[case("[]", "")]
#[tokio::test]
async fn other_texts_have_faults(#[case] text: &str, #[case] pointer: &str) {
    let by = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}});
    let found = faults(by, text).await;
    assert_eq!(found[0].0, pointer, "{found:?}");
}

#[tokio::test]
async fn of_a_long_text_the_first_fault_is_told() {
    let by = json!({"properties": {"l": {"items": {"type": "integer"}}}});
    let long = json!({"l": vec!["x"; 200_000]}).to_string();
    let found = faults(by.clone(), &long).await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, "/l/0");
    assert_eq!(faults(by, r#"{"l": ["x", "x"]}"#).await.len(), 2);
}

#[tokio::test]
async fn explanations_do_not_quote_values() {
    let by = json!({"properties": {"a": {"type": "integer"}}});
    let found = faults(by, r#"{"a": "the password"}"#).await;
    assert_eq!(
        found,
        [(
            "/a".to_owned(),
            "value is not of type \"integer\"".to_owned()
        )]
    );
}

#[tokio::test]
async fn schemas_that_cannot_be_compiled_are_invalid() {
    let schemas = PooledSchemaChecker::new().unwrap();
    let tenant = "default".parse().unwrap();
    for invalid in [
        json!({"type": "text"}),
        json!({"minimum": "1"}),
        json!({"pattern": "("}),
        json!({"pattern": "a(?=b)"}),
    ] {
        let checked = schemas
            .check_schema(&tenant, &schema(invalid.clone()))
            .await;
        assert_eq!(checked, Err(SchemaError::Invalid), "{invalid}");
    }
    let valid = schema(json!({"type": "string", "format": "date"}));
    assert_eq!(schemas.check_schema(&tenant, &valid).await, Ok(()));
}

/// Every value is checked by two paths at each level.
#[tokio::test]
async fn a_schema_that_contains_itself_twice_takes_no_exponential_time() {
    let twice = json!({"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}, "not": {"required": ["b"]}});
    let mut value = json!({"b": 1});
    for _ in 0..60 {
        value = json!({ "a": value });
    }
    let began = Instant::now();
    assert_eq!(faults(twice, &value.to_string()).await.len(), 1);
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn references_that_lead_back_to_themselves_end() {
    for by in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"not": {"$ref": "#"}}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"$dynamicAnchor": "a", "anyOf": [{"$dynamicRef": "#a"}]}),
    ] {
        faults(by, "{}").await;
    }
}

/// The largest stack that an accepted schema needs.
#[tokio::test]
async fn the_deepest_schema_and_value_fit_the_stack() {
    let mut parts = Map::new();
    for level in 0..19 {
        let next = json!({"$ref": format!("#/$defs/{}", level + 1)});
        parts.insert(level.to_string(), json!({"allOf": [next]}));
    }
    parts.insert(
        "19".to_owned(),
        json!({"properties": {"a": {"$ref": "#/$defs/0"}}}),
    );
    let by = json!({"$ref": "#/$defs/0", "$defs": parts});
    let mut value = json!({});
    for _ in 0..63 {
        value = json!({ "a": value });
    }
    assert_eq!(faults(by, &value.to_string()).await, []);
}
