//! Tests of schemas and arguments that exceed a limit.

use std::{sync::Arc, thread, time::Duration};

use rstest::rstest;
use serde_json::json;

use super::{
    super::isolation::{run_check, run_compilation},
    *,
};

/// The smallest stack of any thread of the service.
const SMALL_STACK: usize = 2 * 1024 * 1024;

fn compiled(schema: &Value) -> Schema {
    Schema::compile(schema).unwrap_or_else(|reason| panic!("{reason}"))
}

/// Definitions with two alternatives each, both of which are the next definition.
fn doubling(levels: usize) -> Value {
    let next = |number: usize| json!({"$ref": format!("#/$defs/d{}", number + 1)});
    let mut definitions: Map<_, _> = (0..levels)
        .map(|number| {
            (
                format!("d{number}"),
                json!({"anyOf": [next(number), next(number)]}),
            )
        })
        .collect();
    definitions.insert(format!("d{levels}"), json!({"type": "string"}));
    json!({"$defs": definitions, "$ref": "#/$defs/d0"})
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!({}), |inner, _| json!({"a": inner}))
}

#[test]
fn a_violation_names_its_location() {
    let schema = compiled(&json!({"properties": {"a": {"items": {"type": "string"}}}}));
    assert_eq!(schema.first_violation(&json!({"a": ["x"]})), None);
    let violation = schema.first_violation(&json!({"a": ["x", 5]}));
    assert_eq!(
        violation.as_deref(),
        Some("at /a/1: 5 is not of type \"string\"")
    );
}

#[test]
fn long_arguments_are_checked_to_their_end() {
    let alternatives = json!({"anyOf": [{"type": "string"}, {"type": "integer"}]});
    let schema = compiled(&json!({"properties": {"a": {"items": alternatives}}}));
    let mut list = vec![json!(1); 30_000];
    assert_eq!(schema.first_violation(&json!({ "a": list })), None);
    list.truncate(4_000);
    list.push(json!(null));
    let violation = schema
        .first_violation(&json!({ "a": list }))
        .expect("a fault");
    assert!(violation.starts_with("at /a/4000: "), "{violation}");
}

#[rstest]
#[case::alternatives(doubling(60), json!({}), "the arguments take too long to check")]
#[case::alternatives_of_members(
    json!({"anyOf": [
        {"properties": {"a": {"$ref": "#"}}, "required": ["z"]},
        {"properties": {"a": {"$ref": "#"}}, "required": ["z"]},
    ]}),
    nested(30),
    "the arguments do not fit the schema"
)]
#[case::many_reasons(doubling(18), json!({}), "the arguments do not fit the schema")]
fn endless_checks_are_stopped(
    #[case] schema: Value,
    #[case] arguments: Value,
    #[case] expected: &str,
) {
    let schema = compiled(&schema);
    let start = Instant::now();
    assert_eq!(
        schema.first_violation(&arguments).as_deref(),
        Some(expected)
    );
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(5), "{elapsed:?}");
}

#[test]
fn many_alternatives_within_the_limit_are_checked() {
    let schema = compiled(&doubling(12));
    assert_eq!(schema.first_violation(&json!("text")), None);
}

#[test]
fn the_largest_accepted_copies_are_compiled_quickly() {
    let mut schema = doubling(9);
    schema["unevaluatedProperties"] = json!(false);
    let start = Instant::now();
    compiled(&schema);
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(5), "{elapsed:?}");
    let mut larger = doubling(10);
    larger["unevaluatedProperties"] = json!(false);
    Schema::compile(&larger).expect_err("a schema over the limit");
}

/// The deepest accepted schema: each definition references the next, and the last leads back to the
/// first with one more level of the arguments.
fn deepest(step: impl Fn(Value) -> Value) -> Value {
    let next = |number: usize| json!({"$ref": format!("#/$defs/d{number}")});
    let mut definitions: Map<_, _> = (0..MAX_CHAIN)
        .map(|number| (format!("d{number}"), step(next(number + 1))))
        .collect();
    let last = json!({"properties": {"a": next(0)}, "maxProperties": 1});
    definitions.insert(format!("d{MAX_CHAIN}"), last);
    json!({"$defs": definitions, "$ref": "#/$defs/d0"})
}

/// A chain of references, all copied for `unevaluatedProperties`.
fn longest_copied_chain() -> Value {
    let mut schema = deepest(|next| next);
    schema["unevaluatedProperties"] = json!(false);
    schema
}

/// Each definition has two levels, and all are one level below the root.
const MAX_CHAIN: usize = 250;

#[rstest]
#[case::all(|next| json!({"allOf": [next]}))]
#[case::any(|next| json!({"anyOf": [next, {"type": "null"}]}))]
#[case::one(|next| json!({"oneOf": [next, {"type": "null"}]}))]
#[case::not(|next| json!({"not": next}))]
#[case::dependent(|next| json!({"dependentSchemas": {"a": next}}))]
#[tokio::test]
async fn the_deepest_accepted_schemas_can_be_checked(#[case] step: fn(Value) -> Value) {
    check_and_drop(deepest(step)).await;
}

#[tokio::test]
async fn the_longest_accepted_chain_of_copies_can_be_checked() {
    check_and_drop(longest_copied_chain()).await;
}

async fn check_and_drop(schema: Value) {
    let schema = run_compilation(move || compiled(&schema)).await;
    let schema = Arc::new(schema.expect("it is compiled"));
    for arguments in [nested(31), json!({"a": 1, "b": 2})] {
        let schema = Arc::clone(&schema);
        let check = move || schema.first_violation(&arguments);
        let checked = run_check(&"acme".parse().unwrap(), check).await;
        checked.expect("it is checked");
    }
    let small = thread::Builder::new().stack_size(SMALL_STACK);
    let dropped = small.spawn(move || drop(schema)).expect("a thread");
    dropped.join().expect("it is dropped on a small stack");
}

#[test]
fn arguments_that_are_nested_too_deeply_are_rejected() {
    let schema = compiled(&json!({}));
    assert_eq!(schema.first_violation(&nested(31)), None);
    let violation = schema.first_violation(&nested(32));
    assert_eq!(
        violation.as_deref(),
        Some("the arguments are nested too deeply")
    );
}

#[test]
fn references_into_other_schemas_stay_valid() {
    let schema = compiled(&json!({
        "properties": {
            "a": {"allOf": [{"type": "object"}, {"required": ["b"]}]},
            "c": {"$ref": "#/properties/a/allOf/1"},
        },
    }));
    assert_eq!(schema.first_violation(&json!({"c": {"b": 1}})), None);
    assert!(schema.first_violation(&json!({"c": {}})).is_some());
}

#[rstest]
#[case::all_together("[ab]{1,50}c{1,50}[de]{1,100}$", 60)]
#[case::one_alone("(a{1000}){1000}", 1)]
fn compiled_patterns_are_limited_in_size(#[case] pattern: &str, #[case] count: usize) {
    let of = |count: usize| {
        let pattern = |number| (format!("p{number}"), json!({"pattern": pattern}));
        let properties: Map<_, _> = (0..count).map(pattern).collect();
        Schema::compile(&json!({"properties": properties}))
    };
    of(count).expect_err("refused");
    assert!(count == 1 || of(1).is_ok(), "alone it is small");
}

#[test]
fn common_patterns_are_accepted() {
    let date_time = r"^((\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29|\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|(02)-(0[1-9]|1\d|2[0-8])))T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z)$";
    let uuid = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$";
    let mail = r"^[\w.+-]+@[\w-]+\.[\w.]+$";
    let patterns = [date_time, uuid, mail].into_iter().cycle().take(60);
    let named = patterns.enumerate().map(|(number, pattern)| {
        let name = format!("p{number}");
        (name, json!({"pattern": pattern}))
    });
    compiled(&json!({"properties": named.collect::<Map<_, _>>()}));
}

#[test]
fn patterns_match_long_texts_in_linear_time() {
    let schema = compiled(&json!({"properties": {"a": {"pattern": "(a|b|ab)*[ab]{1,200}c$"}}}));
    let start = Instant::now();
    let violation = schema.first_violation(&json!({"a": "ab".repeat(30_000)}));
    assert!(violation.is_some());
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(5), "{elapsed:?}");
}
