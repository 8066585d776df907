//! Schemas that may be checked by, and others.

use rstest::rstest;
use serde_json::json;

use super::*;

/// Definitions that refer to each other in a row.
fn row(length: usize) -> Value {
    let name = |number| format!("d{number}");
    let refer = |number| json!({"$ref": format!("#/$defs/d{number}")});
    let mut definitions: serde_json::Map<_, _> = (0..length)
        .map(|number| (name(number), refer(number + 1)))
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
#[case::nothing(json!({}))]
#[case::itself(json!({"properties": {"a": {"$ref": "#"}}}))]
#[case::two_of_each_other(json!({
    "$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"items": {"$ref": "#/$defs/a"}}},
    "$ref": "#/$defs/a",
}))]
#[case::by_a_name_of_signs(json!({
    "definitions": {"a<b>/c": {}}, "items": {"$ref": "#/definitions/a%3Cb%3E~1c"},
}))]
#[case::a_place_that_is_no_definition(json!({
    "properties": {"a": {"type": "string"}, "b": {"$ref": "#/properties/a"}},
}))]
#[case::a_property_that_is_called_as_a_keyword(json!({
    "properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}},
}))]
#[case::a_row(row(500))]
#[case::patterns(patterns(64))]
#[case::some_that_is_not_evaluated(unevaluated(8))]
fn lets_pass(#[case] schema: Value) {
    survey(&schema).unwrap_or_else(|refusal| panic!("{refusal}: {schema}"));
}

#[rstest]
#[case::no_object(json!(true), "it is no object")]
#[case::long(json!({"description": "a".repeat(64 * 1024)}), "it is larger than 64 KiB")]
#[case::elsewhere(json!({"$ref": "https://example.com/a"}), "it refers to what is not in it")]
#[case::an_anchor(json!({"$ref": "#a"}), "it refers to what is not in it")]
#[case::lacking(json!({"$ref": "#/$defs/a"}), "it refers to what it lacks")]
#[case::dynamic(
    json!({"items": {"$dynamicRef": "#a"}}),
    "it refers to what is only known while it is used"
)]
#[case::with_an_address(
    json!({"items": {"$id": "b"}}),
    "it has a schema with an address of its own inside"
)]
#[case::a_long_row(row(600), "it is nested or refers too deeply")]
#[case::many_patterns(patterns(65), "it has over 64 patterns")]
#[case::much_that_is_not_evaluated(
    unevaluated(9),
    "it tells over 8 times what holds for all that is not told of"
)]
#[case::many_keys(
    json!({"patternProperties": (0..65).map(|it| (it.to_string(), json!({}))).collect::<serde_json::Map<_, _>>()}),
    "it has over 64 patterns"
)]
fn refuses(#[case] schema: Value, #[case] expected: &str) {
    assert_eq!(survey(&schema).expect_err("refused"), expected);
}

#[test]
fn finds_every_schema_and_nothing_else() {
    let schema = json!({
        "properties": {"a/b": {"items": [{"not": {}}]}},
        "dependencies": {"c": ["d"]},
        "enum": [{"properties": {"no": {}}}],
        "unknown": {"it": {"type": "string"}},
        "else": {"$ref": "#/unknown/it"},
    });
    let survey = survey(&schema).expect("it is a good one");
    let expected = [
        "",
        "/else",
        "/properties/a~1b",
        "/properties/a~1b/items/0",
        "/properties/a~1b/items/0/not",
        "/unknown/it",
    ];
    assert_eq!(Vec::from_iter(&survey.places), expected);
}
