//! Calls that do not go as the model would have it.

use std::{sync::Arc, time::Duration};

use contract::reply_engine::request;
use domain::{FinishReason, ToolCall};
use futures::StreamExt as _;
use ports::{AgentTool, ReplyChunk, ReplyEngine as _, ReplyRequest};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    given::{engine_with, given, hear},
    tools::{Bench, tool, tool_taking},
    upstream::{Upstream, calling, finish, saying, stream},
};

/// One call of a tool: how it is told to people, and what the model is told.
async fn call(tool: AgentTool, function: &str, arguments: &str) -> (ToolCall, Value) {
    let answers = [calling(&[("a", function, arguments)]), saying("Well.")];
    let upstream = Upstream::answering(answers).await;
    let engine = engine_with(&upstream, |times| {
        if function == "hangs" {
            times.tool = Duration::from_millis(40);
        }
    });
    let request = ReplyRequest {
        tools: vec![tool],
        ..request(0)
    };
    let said = hear(&engine, request).await;
    assert_eq!(said.text(), "Well.", "{said:?}");
    let [
        ReplyChunk::ToolCalled { name, arguments },
        ReplyChunk::ToolReturned(record),
        ..,
    ] = &said.chunks[..]
    else {
        panic!("{said:?}")
    };
    assert_eq!(
        (name, &Value::Object(arguments.clone())),
        (&record.name, &record.arguments)
    );
    let body = upstream.bodies().remove(1);
    let messages = body["messages"].as_array().expect("messages");
    let told = messages[messages.len() - 1]["content"].as_str();
    let told = serde_json::from_str(told.expect("text"));
    (record.clone(), told.expect("JSON"))
}

#[rstest]
#[case("refuses", "invalid_arguments", "no such zone")]
#[case("fails", "failed", "the disk is full")]
#[case("away", "unavailable", "the tool is unavailable")]
#[case("hangs", "timed_out", "the tool took too long")]
#[tokio::test]
async fn a_call_that_fails_is_told_and_the_model_goes_on(
    #[case] name: &str,
    #[case] status: &str,
    #[case] why: &str,
) {
    let bench = Arc::default();
    let (record, told) = call(tool(&bench, name), name, r#"{"a": 1}"#).await;
    assert_eq!(record.name, name);
    assert_eq!(record.arguments, json!({"a": 1}));
    assert_eq!(record.status, status);
    assert_eq!(told, json!({"status": status, "error": why}));
}

#[rstest]
#[case(r#"{"zone": 5}"#, json!({"zone": 5}), "at /zone: 5 is not of type \"string\"")]
#[case("{}", json!({}), "at /: \"zone\" is a required property")]
#[case(r#"{"zone": "UT"#, json!({}), "the arguments are no JSON")]
#[case("[1]", json!({}), "the arguments are no JSON object")]
#[case(r#"{"zone": "UTC", "id": 12345678901234567890123}"#, json!({}), "a whole number in the arguments is longer than 64 bits")]
#[tokio::test]
async fn arguments_that_do_not_fit_never_reach_the_tool(
    #[case] arguments: &str,
    #[case] recorded: Value,
    #[case] why: &str,
) {
    let bench: Arc<Bench> = Arc::default();
    let schema =
        json!({"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]});
    let (record, told) = call(tool_taking(&bench, "time", schema), "time", arguments).await;
    assert_eq!(record.status, "invalid_arguments");
    assert_eq!(record.arguments, recorded);
    assert_eq!(told, json!({"status": "invalid_arguments", "error": why}));
    assert!(bench.calls().is_empty());
}

#[tokio::test]
async fn a_tool_that_the_agent_has_not_is_unknown() {
    let bench: Arc<Bench> = Arc::default();
    let (record, told) = call(tool(&bench, "time"), "files", "{}").await;
    assert_eq!(
        (record.name.as_str(), record.status.as_str()),
        ("files", "unknown_tool")
    );
    assert_eq!(told["status"], "unknown_tool");
    assert!(bench.calls().is_empty());
}

#[rstest]
#[case("files_read")]
#[case("files/read")]
#[tokio::test]
async fn a_tool_that_does_not_work_is_not_told_of_and_unavailable(#[case] function: &str) {
    let answers = [calling(&[("a", function, "{}")]), saying("Well.")];
    let (upstream, engine) = given(answers).await;
    let mut request = request(0);
    Arc::make_mut(&mut request.agent).capabilities = vec!["orders".to_owned(), "files".to_owned()];
    request.unavailable_tools = vec!["files".to_owned(), "files/read".to_owned()];
    let said = hear(&engine, request).await;
    let ReplyChunk::ToolReturned(record) = &said.chunks[1] else {
        panic!("{said:?}")
    };
    assert_eq!(
        (record.name.as_str(), record.status.as_str()),
        ("files/read", "unavailable")
    );
    let asked = &upstream.bodies()[0];
    let system = asked["messages"][0]["content"].as_str().expect("text");
    assert!(
        system.contains("orders") && !system.contains("files"),
        "{system}"
    );
    assert_eq!(asked.get("tools"), None);
}

#[tokio::test]
async fn a_long_answer_of_a_tool_is_cut() {
    let bench = Arc::default();
    let (record, told) = call(tool(&bench, "long"), "long", "{}").await;
    assert_eq!(record.status, "ok");
    assert_eq!(told["data"], "🦊".repeat(64 * 1024 / 4));
    assert_eq!(told["note"], "only the beginning: the answer was too long");
}

#[rstest]
#[case("length", FinishReason::Length)]
#[case("content_filter", FinishReason::ContentFilter)]
#[tokio::test]
async fn a_call_that_was_cut_short_is_not_carried_out(
    #[case] reason: &str,
    #[case] expected: FinishReason,
) {
    let bench: Arc<Bench> = Arc::default();
    let part = json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": "{}"}});
    let call = json!({"choices": [{"delta": {"tool_calls": [part]}}]});
    let (upstream, engine) = given([stream(&[call, finish(reason)])]).await;
    let request = ReplyRequest {
        tools: vec![tool(&bench, "time")],
        ..request(0)
    };
    let said = hear(&engine, request).await;
    assert_eq!(said.end().0, expected);
    assert!(bench.calls().is_empty());
    assert_eq!(upstream.asked().len(), 1);
}

#[tokio::test]
async fn a_dropped_stream_stops_the_tool() {
    let bench: Arc<Bench> = Arc::default();
    let (_upstream, engine) = given([calling(&[("a", "hangs", "{}")])]).await;
    let request = ReplyRequest {
        tools: vec![tool(&bench, "hangs")],
        ..request(0)
    };
    let mut stream = engine.reply(request).await.unwrap();
    assert!(matches!(
        stream.next().await,
        Some(Ok(ReplyChunk::ToolCalled { .. }))
    ));
    let mut next = Box::pin(stream.next());
    while bench.calls().is_empty() {
        assert!(futures::poll!(&mut next).is_pending());
        tokio::task::yield_now().await;
    }
    drop(next);
    drop(stream);
    assert_eq!(Arc::strong_count(&bench), 1, "nobody holds the tool");
}
