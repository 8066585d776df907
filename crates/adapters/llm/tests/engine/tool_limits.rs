//! The ends of replies with tool calls.

use std::sync::Arc;

use domain::FinishReason;
use ports::ReplyChunk;
use rstest::rstest;
use serde_json::json;

use crate::{
    fixture::{collect_reply, fixture},
    tools::{FakeTools, request_with},
    upstream::{call_stream, finish, stream, text_stream},
};

#[tokio::test]
async fn the_model_must_reply_after_eight_rounds_of_calls() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let mut responses = vec![call_stream(&[("a", "time", "{}")]); 8];
    responses.push(text_stream("Enough."));
    let (upstream, engine) = fixture(responses).await;
    let reply = collect_reply(&engine, request_with(&fake_tools, &["time"])).await;
    assert_eq!(reply.text(), "Enough.");
    assert_eq!(fake_tools.calls().len(), 8);
    let bodies = upstream.bodies();
    let choices: Vec<_> = bodies.iter().map(|body| body.get("tool_choice")).collect();
    assert_eq!(choices[..8], [None; 8]);
    assert_eq!(choices[8], Some(&json!("none")));
}

#[tokio::test]
async fn a_turn_has_at_most_sixteen_calls() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let twelve: Vec<_> = (0..12).map(|number| number.to_string()).collect();
    let twelve: Vec<_> = twelve
        .iter()
        .map(|id| (id.as_str(), "time", "{}"))
        .collect();
    let (upstream, engine) = fixture([
        call_stream(&twelve),
        call_stream(&twelve),
        text_stream("Enough."),
    ])
    .await;
    let reply = collect_reply(&engine, request_with(&fake_tools, &["time"])).await;
    assert_eq!(reply.text(), "Enough.");
    assert_eq!(fake_tools.calls().len(), 16);
    let returned = reply.chunks.iter().filter_map(|chunk| match chunk {
        ReplyChunk::ToolReturned(call) => Some(call.status.as_str()),
        _ => None,
    });
    let returned: Vec<_> = returned.collect();
    assert_eq!(returned.len(), 24);
    assert_eq!(returned[..16], ["ok"; 16]);
    assert_eq!(returned[16..], ["too_many"; 8]);
    assert_eq!(upstream.bodies()[2]["tool_choice"], "none");
}

#[tokio::test]
async fn calls_after_the_last_round_fail_the_reply() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let (upstream, engine) = fixture([call_stream(&[("a", "time", "{}")])]).await;
    let reply = collect_reply(&engine, request_with(&fake_tools, &["time"])).await;
    assert!(reply.failure().contains("exceeded the limit of tool calls"));
    assert!(reply.error.is_some_and(|it| it.is_unusable_reply()));
    assert_eq!(upstream.requests().len(), 9);
    assert_eq!(fake_tools.calls().len(), 8);
}

#[tokio::test]
async fn text_before_endless_calls_is_not_a_reply() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let part = json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": "{}"}});
    let call = json!({"choices": [{"delta": {"content": "One more look.", "tool_calls": [part]}}]});
    let (_upstream, engine) = fixture([stream(&[call, finish("tool_calls")])]).await;
    let reply = collect_reply(&engine, request_with(&fake_tools, &["time"])).await;
    assert!(reply.failure().contains("exceeded the limit of tool calls"));
}

#[tokio::test]
async fn the_length_of_a_reply_is_limited_over_all_rounds() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let text = "a".repeat(600 * 1024);
    let part = json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": "{}"}});
    let call = json!({"choices": [{"delta": {"content": text, "tool_calls": [part]}}]});
    let first = stream(&[call, finish("tool_calls")]);
    let (_upstream, engine) = fixture([first, text_stream(&text)]).await;
    let reply = collect_reply(&engine, request_with(&fake_tools, &["time"])).await;
    assert!(
        reply.failure().contains("reply is too long"),
        "{:?}",
        reply.error
    );
    assert!(reply.error.is_some_and(|it| it.is_unusable_reply()));
}

#[rstest]
#[case::nothing_before("", "")]
#[case::something_before("Let me look.", "")]
#[case::only_a_line("Let me look.", "\n")]
#[tokio::test]
async fn an_empty_completion_after_a_tool_call_is_not_a_reply(
    #[case] before: &str,
    #[case] after: &str,
) {
    let fake_tools = Arc::default();
    let part = json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": "{}"}});
    let call = json!({"choices": [{"delta": {"content": before, "tool_calls": [part]}}]});
    let first = stream(&[call, finish("tool_calls")]);
    let (_upstream, engine) = fixture([first, text_stream(after)]).await;
    let reply = collect_reply(&engine, request_with(&fake_tools, &["time"])).await;
    assert!(reply.failure().contains("empty reply"), "{reply:?}");
    assert!(reply.error.is_some_and(|it| it.is_unusable_reply()));
}

#[rstest]
#[case("length", FinishReason::Length)]
#[case("content_filter", FinishReason::ContentFilter)]
#[tokio::test]
async fn an_empty_completion_with_another_finish_reason_is_a_reply(
    #[case] reason: &str,
    #[case] expected: FinishReason,
) {
    let fake_tools = Arc::default();
    let responses = [
        call_stream(&[("a", "time", "{}")]),
        stream(&[finish(reason)]),
    ];
    let (_upstream, engine) = fixture(responses).await;
    let reply = collect_reply(&engine, request_with(&fake_tools, &["time"])).await;
    assert_eq!(reply.end().0, expected);
}
