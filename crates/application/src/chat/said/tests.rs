use serde_json::json;

use super::*;

fn called(name: &str, arguments: &Value) -> ToolStep {
    ToolStep::Called {
        name: name.to_owned(),
        arguments: arguments.as_object().expect("an object").clone(),
    }
}

fn returned(name: &str, arguments: &Value, status: &str) -> ToolStep {
    ToolStep::Returned(ToolCall {
        name: name.to_owned(),
        arguments: arguments.clone(),
        status: status.to_owned(),
        duration_ms: 3,
    })
}

fn after(steps: Vec<ToolStep>) -> Said {
    let mut said = Said::default();
    for step in steps {
        assert!(said.note(step), "there is room");
    }
    said
}

/// Name, arguments and status of each call.
fn told(said: &Said, unreturned: Unreturned) -> Vec<(String, Value, String)> {
    let calls = said.tool_calls(unreturned).into_iter();
    let told = calls.map(|call| (call.name, call.arguments, call.status));
    told.collect()
}

#[test]
fn calls_are_told_in_the_order_in_which_they_were_made() {
    let (one, two) = (json!({"zone": "UTC"}), json!({"zone": "Asia/Tokyo"}));
    let said = after(vec![
        called("time", &one),
        called("time", &two),
        called("sum", &json!({})),
        returned("time", &two, "failed"),
        returned("sum", &json!({}), "ok"),
    ]);
    for (unreturned, status) in [
        (Unreturned::Running, "running"),
        (Unreturned::Cut, "cancelled"),
    ] {
        let expected = [
            ("time".to_owned(), one.clone(), status.to_owned()),
            ("time".to_owned(), two.clone(), "failed".to_owned()),
            ("sum".to_owned(), json!({}), "ok".to_owned()),
        ];
        assert_eq!(told(&said, unreturned), expected);
    }
}

#[test]
fn a_call_is_told_once_whatever_an_engine_says_of_its_end() {
    let (given, read) = (json!({"a": "1"}), json!({"a": 1}));
    let said = after(vec![
        called("sum", &given),
        returned("sum", &read, "ok"),
        returned("time", &json!({}), "failed"),
    ]);
    let expected = [
        ("sum".to_owned(), read, "ok".to_owned()),
        ("time".to_owned(), json!({}), "failed".to_owned()),
    ];
    assert_eq!(told(&said, Unreturned::Cut), expected);
}

#[test]
fn a_text_is_only_so_long() {
    let mut said = Said::default();
    assert!(said.say(&"x".repeat(MOST_TEXT_BYTES)));
    assert!(!said.say("x"));
    assert!(said.note(called("sum", &json!({}))));
    assert_eq!(said.text.len(), MOST_TEXT_BYTES);
}

#[test]
fn calls_without_end_are_refused() {
    let mut said = Said::default();
    let made = (0..10_000).take_while(|_| said.note(called("sum", &json!({}))));
    assert!((1_000..10_000).contains(&made.count()));
    assert!(!said.note(returned("sum", &json!({}), "ok")));
    assert!(said.say(&"x".repeat(MOST_TEXT_BYTES)));
}

#[test]
fn all_that_tools_may_be_given_is_kept_once_beside_a_text() {
    // Sixteen calls of 64 KiB of JSON, of the kind that takes the most memory.
    let large = json!({"ab": vec![1; 32_764]});
    assert_eq!(json_bytes(&large), 64 * 1024);
    let mut said = Said::default();
    assert!(said.say(&"x".repeat(MOST_TEXT_BYTES)));
    for _ in 0..16 {
        assert!(said.note(called("sum", &large)));
    }
    for _ in 0..16 {
        assert!(said.note(returned("sum", &large, "ok")));
    }
    let calls = told(&said, Unreturned::Cut);
    assert_eq!(calls, vec![("sum".to_owned(), large, "ok".to_owned()); 16]);
}

#[test]
fn of_more_arguments_only_what_there_is_room_for_is_kept() {
    let large = json!({"a": "x".repeat(TURN_ARGUMENT_BYTES / 2)});
    let small = json!({"a": "x"});
    let mut steps = vec![called("sum", &large), called("sum", &large)];
    // What ends without having begun is counted, too.
    steps.push(returned("time", &large, "ok"));
    steps.push(called("time", &small));
    for _ in 0..3 {
        steps.push(returned("sum", &large, "ok"));
    }
    let calls = told(&after(steps), Unreturned::Cut);
    let kept: Vec<_> = calls.iter().map(|(_, arguments, _)| arguments).collect();
    let nothing = json!({});
    assert_eq!(kept, [&large, &nothing, &nothing, &small, &nothing]);
}

#[test]
fn arguments_that_are_nested_too_deep_are_not_kept() {
    let nested = |levels| (1..levels).fold(json!({}), |inner, _| json!({"a": inner}));
    let (deep, deeper) = (nested(ARGUMENT_LEVELS), nested(ARGUMENT_LEVELS + 1));
    let said = after(vec![
        called("sum", &deep),
        called("sum", &deeper),
        returned("sum", &deep, "ok"),
        returned("sum", &deeper, "invalid_arguments"),
        called("sum", &deeper),
    ]);
    let calls = told(&said, Unreturned::Cut);
    let kept: Vec<_> = calls
        .into_iter()
        .map(|(_, arguments, _)| arguments)
        .collect();
    assert_eq!(kept, [deep, json!({}), json!({})]);
}
