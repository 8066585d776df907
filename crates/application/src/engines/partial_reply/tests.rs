use std::time::Duration;

use contract::fixture;
use domain::{
    ToolStep,
    sizes::{ARGUMENT_LEVELS, TURN_ARGUMENT_BYTES},
    tool_call::json_bytes,
};
use serde_json::{Value, json};

use super::*;

/// A step of the loop.
enum Step<'a> {
    Called(&'a str, &'a Value),
    /// The end of the call with this index, and its status.
    Ended(usize, &'static str),
}
use Step::{Called, Ended};

fn push(reply: &mut PartialReply, step: &Step<'_>) -> bool {
    match *step {
        Called(name, arguments) => {
            let called = ToolStep {
                name: name.to_owned(),
                arguments: arguments.to_string(),
                at: reply.text.len(),
                ..fixture::tool_step(&format!("call-{}", reply.call_count() + 1))
            };
            reply.begin_call(&called).is_some()
        }
        Ended(index, status) => {
            let end = ToolEnd::new(status, "a result".to_owned(), Duration::from_millis(3));
            reply.settle_call(index, &end);
            reply.end_call(index)
        }
    }
}

fn after(steps: &[Step<'_>]) -> PartialReply {
    let mut reply = PartialReply::default();
    for step in steps {
        assert!(push(&mut reply, step), "the step fits");
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
    let nothing = json!({});
    let reply = after(&[
        Called("time", &one),
        Called("time", &two),
        Called("sum", &nothing),
        Ended(1, "failed"),
        Ended(2, "ok"),
    ]);
    for (open, status) in [
        (OpenCallStatus::Running, "running"),
        (OpenCallStatus::Cut, "outcome_unknown"),
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
fn the_text_after_tool_calls_is_a_paragraph_of_its_own() {
    for (before, after, expected) in [
        ("", "Noon.", "Noon."),
        ("Let me look.", "Noon.", "Let me look.\n\nNoon."),
        ("Let me look.\n", "Noon.", "Let me look.\nNoon."),
        ("Let me look.", "\n\nNoon.", "Let me look.\n\n\n\nNoon."),
    ] {
        let mut reply = PartialReply::default();
        assert!(reply.push_text(before));
        assert_eq!(reply.section(), before);
        reply.start_section();
        assert!(reply.push_text(""));
        assert_eq!((&*reply.text, reply.section()), (before, ""));
        for character in after.chars() {
            assert!(reply.push_text(&character.to_string()));
        }
        assert_eq!((&*reply.text, reply.section()), (expected, after));
    }
}

#[test]
fn text_beyond_the_limit_is_refused() {
    let mut reply = PartialReply::default();
    assert!(reply.push_text(&"x".repeat(MAX_TEXT_BYTES)));
    assert!(!reply.push_text("x"));
    assert!(push(&mut reply, &Called("sum", &json!({}))));
    assert_eq!(reply.text.len(), MAX_TEXT_BYTES);
}

#[test]
fn calls_beyond_the_limit_are_refused() {
    let mut reply = PartialReply::default();
    let nothing = json!({});
    let made = (0..10_000).take_while(|_| push(&mut reply, &Called("sum", &nothing)));
    assert!((1_000..10_000).contains(&made.count()));
    assert!(!push(&mut reply, &Ended(0, "ok")));
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
        assert!(push(&mut reply, &Called("sum", &large)));
    }
    for index in 0..16 {
        assert!(push(&mut reply, &Ended(index, "ok")));
    }
    let calls = reported(&reply, OpenCallStatus::Cut);
    assert_eq!(calls, vec![("sum".to_owned(), large, "ok".to_owned()); 16]);
}

#[test]
fn arguments_beyond_the_limit_are_omitted() {
    let large = json!({"a": "x".repeat(TURN_ARGUMENT_BYTES / 2)});
    let small = json!({"a": "x"});
    let reply = after(&[
        Called("sum", &large),
        Called("sum", &large),
        Called("time", &small),
        Ended(0, "ok"),
    ]);
    let calls = reported(&reply, OpenCallStatus::Cut);
    let kept: Vec<_> = calls.iter().map(|(_, arguments, _)| arguments).collect();
    let nothing = json!({});
    assert_eq!(kept, [&large, &nothing, &small]);
}

#[test]
fn arguments_that_are_nested_too_deep_are_omitted() {
    let nested = |levels| (1..levels).fold(json!({}), |inner, _| json!({"a": inner}));
    let (deep, deeper) = (nested(ARGUMENT_LEVELS), nested(ARGUMENT_LEVELS + 1));
    let reply = after(&[Called("sum", &deep), Called("sum", &deeper)]);
    let calls = reported(&reply, OpenCallStatus::Cut);
    let kept: Vec<_> = calls
        .into_iter()
        .map(|(_, arguments, _)| arguments)
        .collect();
    assert_eq!(kept, [deep, json!({})]);
}

/// A stored call that runs, or waits after its approval, tells readers of no end.
#[test]
fn stored_calls_without_an_outcome_have_no_end() {
    let mut approved =
        after(&[Called("shop/refund", &json!({}))]).tool_calls(OpenCallStatus::Running);
    approved[0].status = ToolCall::WAITING.to_owned();
    for (status, has_ended) in [
        (ToolCall::RUNNING, false),
        (ToolCall::WAITING, false),
        (ToolCall::OK, true),
    ] {
        let mut calls = approved.clone();
        status.clone_into(&mut calls[0].status);
        let reply = PartialReply::restored(String::new(), calls);
        let ends = reply.tools.iter().filter(|event| event.has_ended).count();
        assert_eq!(ends, usize::from(has_ended), "{status}");
    }
}
