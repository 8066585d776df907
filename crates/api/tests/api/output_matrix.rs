//! Two hundred schemas with good, bad, cut and empty replies: an output is valid, or there is an error.

use futures::{StreamExt as _, stream};
use jsonschema::{Draft, Validator};
use serde_json::{Value, json};

use crate::told_engine::{told, told_agent};

/// A schema with a value that satisfies it, and one that does not.
#[derive(Clone)]
struct Case {
    schema: Value,
    good: Value,
    bad: Value,
}

fn case(schema: Value, good: Value, bad: Value) -> Case {
    Case { schema, good, bad }
}

fn texts_and_numbers() -> Vec<Case> {
    vec![
        case(json!({"type": "string"}), json!("a \"b\" é"), json!(1)),
        case(
            json!({"type": "string", "minLength": 2}),
            json!("ab"),
            json!("a"),
        ),
        case(
            json!({"type": "string", "maxLength": 2}),
            json!("ab"),
            json!("abc"),
        ),
        case(
            json!({"pattern": "^[a-z]+$", "type": "string"}),
            json!("ab"),
            json!("A"),
        ),
        case(
            json!({"type": "string", "format": "date"}),
            json!("2026-11-30"),
            json!("today"),
        ),
        case(
            json!({"type": "string", "format": "email"}),
            json!("a@example.org"),
            json!("a"),
        ),
        case(json!({"type": "integer"}), json!(-7), json!(7.5)),
        case(json!({"type": "integer", "minimum": 3}), json!(3), json!(2)),
        case(
            json!({"type": "number", "exclusiveMaximum": 1}),
            json!(0.5),
            json!(1),
        ),
        case(
            json!({"type": "number", "multipleOf": 0.5}),
            json!(1.5),
            json!(1.3),
        ),
    ]
}

fn others() -> Vec<Case> {
    vec![
        case(json!({"type": "boolean"}), json!(false), json!("false")),
        case(json!({"type": "null"}), json!(null), json!(0)),
        case(json!({"type": ["string", "null"]}), json!(null), json!([])),
        case(json!({"enum": ["a", 1, null]}), json!(1), json!("b")),
        case(
            json!({"const": {"x": [1]}}),
            json!({"x": [1]}),
            json!({"x": [2]}),
        ),
        case(
            json!({"anyOf": [{"type": "string"}, {"minimum": 5, "type": "integer"}]}),
            json!(5),
            json!(4),
        ),
        case(
            json!({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}], "type": "integer"}),
            json!(4),
            json!(6),
        ),
        case(json!({"not": {"type": "string"}}), json!(1), json!("a")),
        case(
            json!({"if": {"type": "string"}, "then": {"minLength": 3}, "else": {"type": "integer"}}),
            json!("abc"),
            json!("ab"),
        ),
        case(
            json!({"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer"}}}),
            json!([1, 2]),
            json!([1, "2"]),
        ),
    ]
}

/// The same in a larger value. A reference inside a schema is relative to the whole.
fn wrapped(inner: &Case) -> Vec<Case> {
    let Case { schema, good, bad } = inner.clone();
    let mut inner = schema.clone();
    let parts = inner.as_object_mut().and_then(|it| it.remove("$defs"));
    let wrap = |wrapper: Value, good: Value, bad: Value| {
        let mut wrapper = wrapper;
        if let Some(parts) = &parts {
            wrapper["$defs"] = parts.clone();
        }
        case(wrapper, good, bad)
    };
    vec![
        case(schema, good.clone(), bad.clone()),
        wrap(
            json!({"type": "object", "properties": {"a": inner}, "required": ["a"]}),
            json!({"a": good}),
            json!({"a": bad}),
        ),
        wrap(
            json!({"type": "object", "properties": {"a": inner}, "additionalProperties": false}),
            json!({"a": good}),
            json!({"a": good, "b": 1}),
        ),
        wrap(
            json!({"type": "object", "properties": {"a": inner}, "required": ["a"]}),
            json!({"a": good, "b": {}}),
            json!({}),
        ),
        wrap(
            json!({"type": "array", "items": inner}),
            json!([good, good]),
            json!([good, bad]),
        ),
        wrap(
            json!({"type": "array", "prefixItems": [inner], "minItems": 1, "maxItems": 2}),
            json!([good]),
            json!([bad]),
        ),
        wrap(
            json!({"type": "array", "contains": inner}),
            json!([good]),
            json!([]),
        ),
        wrap(
            json!({"type": "object", "patternProperties": {"^x": inner}}),
            json!({"x1": good, "y": null}),
            json!({"x1": bad}),
        ),
        wrap(
            json!({"type": "object", "additionalProperties": inner, "minProperties": 1}),
            json!({"k": good}),
            json!({"k": bad}),
        ),
        wrap(
            json!({"allOf": [{"type": "object"}, {"properties": {"a": {"type": "array", "items": inner}}}]}),
            json!({"a": [good]}),
            json!({"a": [bad]}),
        ),
    ]
}

/// The replies of a model, and whether there must be an output.
fn replies(case: &Case) -> Vec<(String, bool)> {
    let (good, bad) = (case.good.to_string(), case.bad.to_string());
    let fenced = format!("```json\n{good}\n```");
    let half: String = good.chars().take(good.chars().count() / 2).collect();
    let twice = |text: &str| told(&[(text, "stop"), (text, "stop")]);
    vec![
        (told(&[(&good, "stop")]), true),
        (told(&[(&bad, "stop"), (&good, "stop")]), true),
        (told(&[(&fenced, "stop"), (&good, "stop")]), true),
        (twice(&bad), false),
        (twice(&fenced), false),
        (twice(&format!("{good} ok")), false),
        (told(&[(&good, "length")]), false),
        (told(&[(&half, "length")]), false),
        (told(&[(&bad, "stop"), (&half, "length")]), false),
        (told(&[("", "stop")]), false),
        (told(&[("", "length")]), false),
        (told(&[(&bad, "stop"), (" ", "stop")]), false),
    ]
}

fn validator(schema: &Value) -> Validator {
    let options = jsonschema::options().with_draft(Draft::Draft202012);
    let built = options.should_validate_formats(true).build(schema);
    built.expect("a schema")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_is_valid_or_there_is_an_error() {
    let simple = [texts_and_numbers(), others()].concat();
    let cases: Vec<_> = simple.iter().flat_map(wrapped).collect();
    assert_eq!(cases.len(), 200);
    let (api, _, agent) = told_agent(json!({})).await;
    let writer = api.writer();
    let chats = cases.iter().flat_map(|case| {
        let validator = validator(&case.schema);
        assert!(
            validator.is_valid(&case.good) && !validator.is_valid(&case.bad),
            "{}",
            case.schema
        );
        replies(case).into_iter().map(move |reply| (case, reply))
    });
    let answered = stream::iter(chats).map(|(case, (message, has_output))| {
        let chat = json!({
            "agentId": agent, "message": message, "responseSchema": case.schema, "store": false,
        });
        let sending = writer.post("/api/chat", chat);
        async move { (case, message, has_output, sending.await) }
    });
    let mut answered = answered.buffer_unordered(8);
    let mut counts = [0, 0];
    while let Some((case, message, has_output, response)) = answered.next().await {
        let body = response.json();
        let place = format!("{} {message}: {body}", case.schema);
        assert_eq!(response.status == 200, has_output, "{place}");
        counts[usize::from(has_output)] += 1;
        if has_output {
            let output = body.get("output").unwrap_or_else(|| panic!("{place}"));
            assert!(validator(&case.schema).is_valid(output), "{place}");
            let text: Value = serde_json::from_str(body["message"].as_str().unwrap()).unwrap();
            assert_eq!(*output, text, "{place}");
        } else {
            let codes = ["invalid_output", "engine_failed"];
            assert!(codes.iter().any(|code| body["code"] == *code), "{place}");
            assert!(body.get("output").is_none(), "{place}");
        }
    }
    assert_eq!(counts, [200 * 9, 200 * 3]);
    drop(answered);
    api.stop().await;
}
