//! How answers end for which the model uses tools.

use std::sync::Arc;

use domain::FinishReason;
use ports::ReplyChunk;
use rstest::rstest;
use serde_json::json;

use crate::{
    given::{given, hear},
    tools::{Bench, request_with},
    upstream::{calling, finish, saying, stream},
};

#[tokio::test]
async fn a_model_that_never_stops_calling_has_to_answer_after_eight_rounds() {
    let bench: Arc<Bench> = Arc::default();
    let mut answers = vec![calling(&[("a", "time", "{}")]); 8];
    answers.push(saying("Enough."));
    let (upstream, engine) = given(answers).await;
    let said = hear(&engine, request_with(&bench, &["time"])).await;
    assert_eq!(said.text(), "Enough.");
    assert_eq!(bench.calls().len(), 8);
    let bodies = upstream.bodies();
    let choices: Vec<_> = bodies.iter().map(|body| body.get("tool_choice")).collect();
    assert_eq!(choices[..8], [None; 8]);
    assert_eq!(choices[8], Some(&json!("none")));
}

#[tokio::test]
async fn calls_sixteen_times_in_a_turn_at_most() {
    let bench: Arc<Bench> = Arc::default();
    let twelve: Vec<_> = (0..12).map(|number| number.to_string()).collect();
    let twelve: Vec<_> = twelve
        .iter()
        .map(|id| (id.as_str(), "time", "{}"))
        .collect();
    let (upstream, engine) = given([calling(&twelve), calling(&twelve), saying("Enough.")]).await;
    let said = hear(&engine, request_with(&bench, &["time"])).await;
    assert_eq!(said.text(), "Enough.");
    assert_eq!(bench.calls().len(), 16);
    let returned = said.chunks.iter().filter_map(|chunk| match chunk {
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
async fn a_model_that_calls_although_it_may_not_has_no_answer() {
    let bench: Arc<Bench> = Arc::default();
    let (upstream, engine) = given([calling(&[("a", "time", "{}")])]).await;
    let said = hear(&engine, request_with(&bench, &["time"])).await;
    assert!(said.failure().contains("calls tools without end"));
    assert!(said.error.is_some_and(|it| it.is_useless_answer()));
    assert_eq!(upstream.asked().len(), 9);
    assert_eq!(bench.calls().len(), 8);
}

#[tokio::test]
async fn what_was_said_before_endless_calls_is_no_answer() {
    let bench: Arc<Bench> = Arc::default();
    let part = json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": "{}"}});
    let call = json!({"choices": [{"delta": {"content": "One more look.", "tool_calls": [part]}}]});
    let (_upstream, engine) = given([stream(&[call, finish("tool_calls")])]).await;
    let said = hear(&engine, request_with(&bench, &["time"])).await;
    assert!(said.failure().contains("calls tools without end"));
}

#[tokio::test]
async fn more_than_is_taken_over_several_rounds_is_no_answer() {
    let bench: Arc<Bench> = Arc::default();
    let text = "a".repeat(600 * 1024);
    let part = json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": "{}"}});
    let call = json!({"choices": [{"delta": {"content": text, "tool_calls": [part]}}]});
    let first = stream(&[call, finish("tool_calls")]);
    let (_upstream, engine) = given([first, saying(&text)]).await;
    let said = hear(&engine, request_with(&bench, &["time"])).await;
    assert!(said.failure().contains("says too much"), "{:?}", said.error);
    assert!(said.error.is_some_and(|it| it.is_useless_answer()));
}

#[rstest]
#[case::nothing_before("", "")]
#[case::something_before("Let me look.", "")]
#[case::only_a_line("Let me look.", "\n")]
#[tokio::test]
async fn silence_after_a_tool_is_no_answer(#[case] before: &str, #[case] after: &str) {
    let bench = Arc::default();
    let part = json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": "{}"}});
    let call = json!({"choices": [{"delta": {"content": before, "tool_calls": [part]}}]});
    let first = stream(&[call, finish("tool_calls")]);
    let (_upstream, engine) = given([first, saying(after)]).await;
    let said = hear(&engine, request_with(&bench, &["time"])).await;
    assert!(said.failure().contains("without a word"), "{said:?}");
    assert!(said.error.is_some_and(|it| it.is_useless_answer()));
}

#[rstest]
#[case("length", FinishReason::Length)]
#[case("content_filter", FinishReason::ContentFilter)]
#[tokio::test]
async fn silence_that_is_explained_is_an_answer(
    #[case] reason: &str,
    #[case] expected: FinishReason,
) {
    let bench = Arc::default();
    let answers = [calling(&[("a", "time", "{}")]), stream(&[finish(reason)])];
    let (_upstream, engine) = given(answers).await;
    let said = hear(&engine, request_with(&bench, &["time"])).await;
    assert_eq!(said.end().0, expected);
}
