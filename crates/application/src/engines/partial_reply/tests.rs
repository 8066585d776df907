use serde_json::json;
use uuid::Uuid;

use super::*;

fn turn() -> TurnId {
    TurnId::new(Uuid::from_u128(1))
}

fn called(name: &str, arguments: &Value) -> ToolStep {
    ToolStep::Called {
        name: name.to_owned(),
        arguments: arguments.as_object().expect("an object").clone(),
    }
}

fn returned(name: &str, arguments: &Value, status: &str) -> ToolStep {
    ToolStep::Returned(ToolReturn {
        name: name.to_owned(),
        arguments: arguments.clone(),
        status: status.to_owned(),
        duration_ms: 3,
        result: "a result".to_owned(),
    })
}

fn after(steps: Vec<ToolStep>) -> PartialReply {
    let mut reply = PartialReply::default();
    for step in steps {
        assert!(reply.push_tool_step(turn(), step), "the step fits");
    }
    reply
}

/// Name, arguments and status of each call.
fn reported(reply: &PartialReply, open: OpenCallStatus) -> Vec<(String, Value, String)> {
    let calls = reply.tool_calls(open).into_iter();
    let reported = calls.map(|call| (call.name, call.arguments, call.status));
    reported.collect()
}

#[test]
fn calls_are_reported_in_the_order_in_which_they_were_made() {
    let (one, two) = (json!({"zone": "UTC"}), json!({"zone": "Asia/Tokyo"}));
    let reply = after(vec![
        called("time", &one),
        called("time", &two),
        called("sum", &json!({})),
        returned("time", &two, "failed"),
        returned("sum", &json!({}), "ok"),
    ]);
    for (open, status) in [
        (OpenCallStatus::Running, "running"),
        (OpenCallStatus::Cut, "cancelled"),
    ] {
        let expected = [
            ("time".to_owned(), one.clone(), status.to_owned()),
            ("time".to_owned(), two.clone(), "failed".to_owned()),
            ("sum".to_owned(), json!({}), "ok".to_owned()),
        ];
        assert_eq!(reported(&reply, open), expected);
    }
}

#[test]
fn a_call_is_reported_once_even_if_its_end_has_other_arguments() {
    let (sent, parsed) = (json!({"a": "1"}), json!({"a": 1}));
    let reply = after(vec![
        called("sum", &sent),
        returned("sum", &parsed, "ok"),
        returned("time", &json!({}), "failed"),
    ]);
    let expected = [
        ("sum".to_owned(), parsed, "ok".to_owned()),
        ("time".to_owned(), json!({}), "failed".to_owned()),
    ];
    assert_eq!(reported(&reply, OpenCallStatus::Cut), expected);
}

#[test]
fn text_beyond_the_limit_is_refused() {
    let mut reply = PartialReply::default();
    assert!(reply.push_text(&"x".repeat(MAX_TEXT_BYTES)));
    assert!(!reply.push_text("x"));
    assert!(reply.push_tool_step(turn(), called("sum", &json!({}))));
    assert_eq!(reply.text.len(), MAX_TEXT_BYTES);
}

#[test]
fn calls_beyond_the_limit_are_refused() {
    let mut reply = PartialReply::default();
    let made = (0..10_000).take_while(|_| reply.push_tool_step(turn(), called("sum", &json!({}))));
    assert!((1_000..10_000).contains(&made.count()));
    assert!(!reply.push_tool_step(turn(), returned("sum", &json!({}), "ok")));
    assert!(reply.push_text(&"x".repeat(MAX_TEXT_BYTES)));
}

#[test]
fn arguments_up_to_the_limit_are_kept_once_beside_the_text() {
    // Sixteen calls of 64 KiB of JSON, of the kind that takes the most memory.
    let large = json!({"ab": vec![1; 32_764]});
    assert_eq!(json_bytes(&large), 64 * 1024);
    let mut reply = PartialReply::default();
    assert!(reply.push_text(&"x".repeat(MAX_TEXT_BYTES)));
    for _ in 0..16 {
        assert!(reply.push_tool_step(turn(), called("sum", &large)));
    }
    for _ in 0..16 {
        assert!(reply.push_tool_step(turn(), returned("sum", &large, "ok")));
    }
    let calls = reported(&reply, OpenCallStatus::Cut);
    assert_eq!(calls, vec![("sum".to_owned(), large, "ok".to_owned()); 16]);
}

#[test]
fn arguments_beyond_the_limit_are_omitted() {
    let large = json!({"a": "x".repeat(TURN_ARGUMENT_BYTES / 2)});
    let small = json!({"a": "x"});
    let mut steps = vec![called("sum", &large), called("sum", &large)];
    // A call that ends without a start is counted, too.
    steps.push(returned("time", &large, "ok"));
    steps.push(called("time", &small));
    for _ in 0..3 {
        steps.push(returned("sum", &large, "ok"));
    }
    let calls = reported(&after(steps), OpenCallStatus::Cut);
    let kept: Vec<_> = calls.iter().map(|(_, arguments, _)| arguments).collect();
    let nothing = json!({});
    assert_eq!(kept, [&large, &nothing, &nothing, &small, &nothing]);
}

#[test]
fn arguments_that_are_nested_too_deep_are_omitted() {
    let nested = |levels| (1..levels).fold(json!({}), |inner, _| json!({"a": inner}));
    let (deep, deeper) = (nested(ARGUMENT_LEVELS), nested(ARGUMENT_LEVELS + 1));
    let reply = after(vec![
        called("sum", &deep),
        called("sum", &deeper),
        returned("sum", &deep, "ok"),
        returned("sum", &deeper, "invalid_arguments"),
        called("sum", &deeper),
    ]);
    let calls = reported(&reply, OpenCallStatus::Cut);
    let kept: Vec<_> = calls
        .into_iter()
        .map(|(_, arguments, _)| arguments)
        .collect();
    assert_eq!(kept, [deep, json!({}), json!({})]);
}
