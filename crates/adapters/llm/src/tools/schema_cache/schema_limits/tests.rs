//! Tests of accepted and rejected schemas.

use rstest::rstest;
use serde_json::json;

use super::*;

/// Definitions that reference each other in a chain.
fn chain(length: usize) -> Value {
    let name = |number| format!("d{number}");
    let reference = |number| json!({"$ref": format!("#/$defs/d{number}")});
    let mut definitions: serde_json::Map<_, _> = (0..length)
        .map(|number| (name(number), reference(number + 1)))
        .collect();
    definitions.insert(name(length), json!({"type": "object"}));
    json!({"$defs": definitions, "$ref": "#/$defs/d0"})
}

fn patterns(count: usize) -> Value {
    let pattern = |number| (format!("p{number}"), json!({"pattern": "^a"}));
    json!({"properties": (0..count).map(pattern).collect::<serde_json::Map<_, _>>()})
}

fn unevaluated(count: usize) -> Value {
    (0..count).fold(
        json!({}),
        |inner, _| json!({"allOf": [inner], "unevaluatedItems": false}),
    )
}

#[rstest]
#[case::empty_schema(json!({}))]
#[case::reference_to_itself(json!({"properties": {"a": {"$ref": "#"}}}))]
#[case::mutual_references(json!({
    "$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"items": {"$ref": "#/$defs/a"}}},
    "$ref": "#/$defs/a",
}))]
#[case::escaped_reference(json!({
    "definitions": {"a<b>/c": {}}, "items": {"$ref": "#/definitions/a%3Cb%3E~1c"},
}))]
#[case::reference_to_a_property(json!({
    "properties": {"a": {"type": "string"}, "b": {"$ref": "#/properties/a"}},
}))]
#[case::property_named_like_a_keyword(json!({
    "properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}},
}))]
#[case::a_chain(chain(500))]
#[case::patterns(patterns(64))]
#[case::unevaluated_within_the_limit(unevaluated(8))]
fn accepted_schemas(#[case] schema: Value) {
    structure(&schema).unwrap_or_else(|reason| panic!("{reason}: {schema}"));
}

#[rstest]
#[case::not_an_object(json!(true), "it is not an object")]
#[case::long(json!({"description": "a".repeat(64 * 1024)}), "it is larger than 64 KiB")]
#[case::external_reference(json!({"$ref": "https://example.com/a"}), "it references something outside itself")]
#[case::an_anchor(json!({"$ref": "#a"}), "it references something outside itself")]
#[case::missing_definition(json!({"$ref": "#/$defs/a"}), "it references a definition that is missing")]
#[case::dynamic(
    json!({"items": {"$dynamicRef": "#a"}}),
    "it has a dynamic reference"
)]
#[case::nested_id(
    json!({"items": {"$id": "b"}}),
    "a schema inside it has an `$id` of its own"
)]
#[case::a_long_chain(chain(600), "it is nested or chained by references too deeply")]
#[case::many_patterns(patterns(65), "it has over 64 patterns")]
#[case::too_many_unevaluated(
    unevaluated(9),
    "it has over 8 `unevaluatedItems` and `unevaluatedProperties`"
)]
#[case::many_pattern_keys(
    json!({"patternProperties": (0..65).map(|it| (it.to_string(), json!({}))).collect::<serde_json::Map<_, _>>()}),
    "it has over 64 patterns"
)]
fn rejected_schemas(#[case] schema: Value, #[case] expected: &str) {
    assert_eq!(structure(&schema).expect_err("an error"), expected);
}

#[test]
fn every_subschema_is_found() {
    let schema = json!({
        "properties": {"a/b": {"items": [{"not": {}}]}},
        "dependencies": {"c": ["d"]},
        "enum": [{"properties": {"no": {}}}],
        "unknown": {"it": {"type": "string"}},
        "else": {"$ref": "#/unknown/it"},
    });
    let structure = structure(&schema).expect("it is a good one");
    let expected = [
        "",
        "/else",
        "/properties/a~1b",
        "/properties/a~1b/items/0",
        "/properties/a~1b/items/0/not",
        "/unknown/it",
    ];
    assert_eq!(Vec::from_iter(&structure.locations), expected);
}
