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

const TOO_LARGE: &str = "it is larger than 512 KiB with the location of each subschema, once \
    references beside `unevaluatedItems` and `unevaluatedProperties` are expanded";
const ENDLESS: &str =
    "a schema beside `unevaluatedItems` or `unevaluatedProperties` contains itself";

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

/// Definitions that each use the next one twice, and what the last one is, beside a keyword that
/// copies them.
fn copied(levels: usize, use_twice: fn(&Value) -> Value, last: Value, keyword: &str) -> Value {
    let next = |number: usize| json!({"$ref": format!("#/$defs/d{}", number + 1)});
    let mut definitions: serde_json::Map<_, _> = (0..levels)
        .map(|number| (format!("d{number}"), use_twice(&next(number))))
        .collect();
    definitions.insert(format!("d{levels}"), last);
    json!({"$defs": definitions, "$ref": "#/$defs/d0", keyword: false})
}

fn any_of(next: &Value) -> Value {
    json!({"anyOf": [next, next]})
}

fn all_of_and_reference(next: &Value) -> Value {
    json!({"allOf": [next], "$ref": next["$ref"]})
}

fn if_then_else(next: &Value) -> Value {
    json!({"if": next, "then": next, "else": next})
}

fn dependent(next: &Value) -> Value {
    json!({"dependentSchemas": {"a": next, "b": next}})
}

/// Deeply nested subschemas, whose locations contain a long name.
fn long_locations() -> Value {
    let inner = vec![json!({}); 5_000];
    json!({"properties": {"a".repeat(30_000): {"allOf": inner}}})
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
#[case::a_copied_pattern(json!({
    "patternProperties": {"^x-": {}, "^(a+)+$": {}}, "unevaluatedProperties": false,
}))]
#[case::many_copies(copied(9, any_of, json!(true), "unevaluatedProperties"))]
#[case::definition_that_contains_itself_in_other_values(json!({
    "properties": {"a": {"$ref": "#"}}, "additionalProperties": {"$ref": "#"},
    "unevaluatedProperties": {"$ref": "#"},
}))]
#[case::many_definitions_without_copies(json!({
    "$defs": copied(60, any_of, json!(true), "title")["$defs"],
    "properties": {"a": {"$ref": "#/$defs/d0"}}, "unevaluatedProperties": false,
}))]
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
#[case::exponential_copies(copied(40, any_of, json!(true), "unevaluatedProperties"), TOO_LARGE)]
#[case::exponential_copies_of_items(copied(100, any_of, json!(true), "unevaluatedItems"), TOO_LARGE)]
#[case::exponential_copies_by_references(
    copied(40, all_of_and_reference, json!({"properties": {"a": true}}), "unevaluatedProperties"),
    TOO_LARGE
)]
#[case::exponential_copies_by_conditions(
    copied(40, if_then_else, json!(true), "unevaluatedProperties"), TOO_LARGE
)]
#[case::exponential_copies_by_dependencies(
    copied(40, dependent, json!(true), "unevaluatedProperties"), TOO_LARGE
)]
#[case::copies_of_many_names(
    copied(6, any_of, json!({"required": vec!["name"; 5_000]}), "unevaluatedProperties"), TOO_LARGE
)]
#[case::long_locations(long_locations(), TOO_LARGE)]
#[case::copies_of_patterns(
    copied(6, any_of, json!({"patternProperties": {"^a": {}}}), "unevaluatedProperties"),
    "it has over 64 patterns"
)]
#[case::copied_pattern_that_backtracks(
    json!({"patternProperties": {"^(a|a|b++)*c$": {}}, "unevaluatedProperties": false}),
    "a pattern beside `unevaluatedItems` or `unevaluatedProperties` has options, word boundaries \
     or possessive repetitions"
)]
#[case::copies_itself(json!({"allOf": [{"$ref": "#"}], "unevaluatedProperties": false}), ENDLESS)]
#[case::copies_itself_as_items(json!({"$ref": "#", "unevaluatedItems": false}), ENDLESS)]
#[case::copies_itself_in_other_values(json!({
    "additionalProperties": {"$ref": "#", "unevaluatedProperties": false},
    "unevaluatedProperties": false,
}), ENDLESS)]
#[case::copies_itself_in_items(
    json!({"contains": {"$ref": "#", "unevaluatedItems": false}}), ENDLESS
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
