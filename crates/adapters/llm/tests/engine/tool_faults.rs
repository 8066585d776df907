//! Tool calls that fail.

use std::{sync::Arc, time::Duration};

use contract::reply_engine::request;
use domain::FinishReason;
use futures::StreamExt as _;
use ports::{AgentTool, ReplyChunk, ReplyEngine as _, ReplyRequest, ToolReturn};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    fixture::{collect_reply, engine_with, fixture},
    tools::{FakeTools, tool, tool_taking},
    upstream::{Upstream, call_stream, finish, stream, text_stream},
};

/// The record of a tool call, and its result for the model.
async fn call(tool: AgentTool, function: &str, arguments: &str) -> (ToolReturn, Value) {
    let responses = [
        call_stream(&[("a", function, arguments)]),
        text_stream("Well."),
    ];
    let upstream = Upstream::start(responses).await;
    let engine = engine_with(&upstream, |timeouts| {
        if function == "hangs" {
            timeouts.tool = Duration::from_millis(40);
        }
    });
    let request = ReplyRequest {
        tools: vec![tool],
        ..request(0)
    };
    let reply = collect_reply(&engine, request).await;
    assert_eq!(reply.text(), "Well.", "{reply:?}");
    let [
        ReplyChunk::ToolCalled { name, arguments },
        ReplyChunk::ToolReturned(record),
        ..,
    ] = &reply.chunks[..]
    else {
        panic!("{reply:?}")
    };
    assert_eq!(
        (name, &Value::Object(arguments.clone())),
        (&record.name, &record.arguments)
    );
    let body = upstream.bodies().remove(1);
    let messages = body["messages"].as_array().expect("messages");
    let result = messages[messages.len() - 1]["content"].as_str();
    let result = serde_json::from_str(result.expect("text"));
    (record.clone(), result.expect("JSON"))
}

#[rstest]
#[case("refuses", "invalid_arguments", "no such zone")]
#[case("fails", "failed", "the disk is full")]
#[case("away", "unavailable", "the tool is unavailable")]
#[case("hangs", "timed_out", "the tool took too long")]
#[tokio::test]
async fn a_failed_call_is_reported_and_the_model_continues(
    #[case] name: &str,
    #[case] status: &str,
    #[case] why: &str,
) {
    let fake_tools = Arc::default();
    let (record, result) = call(tool(&fake_tools, name), name, r#"{"a": 1}"#).await;
    assert_eq!(record.name, name);
    assert_eq!(record.arguments, json!({"a": 1}));
    assert_eq!(record.status, status);
    assert_eq!(result, json!({"status": status, "error": why}));
}

#[tokio::test]
async fn a_tool_may_have_a_time_limit_of_its_own() {
    let fake_tools = Arc::new(FakeTools {
        call_timeout: Some(Duration::from_millis(1)),
        ..FakeTools::default()
    });
    let responses = [call_stream(&[("a", "hangs", "{}")]), text_stream("Well.")];
    let upstream = Upstream::start(responses).await;
    // The test would take as long as the usual limit.
    let engine = engine_with(&upstream, |timeouts| {
        timeouts.tool = Duration::from_hours(1);
    });
    let request = ReplyRequest {
        tools: vec![tool(&fake_tools, "hangs")],
        ..request(0)
    };
    let reply = collect_reply(&engine, request).await;
    assert_eq!(reply.text(), "Well.");
    assert!(
        matches!(&reply.chunks[1], ReplyChunk::ToolReturned(record) if record.status == "timed_out"),
        "{reply:?}"
    );
}

#[rstest]
#[case(r#"{"zone": 5}"#, json!({"zone": 5}), "at /zone: 5 is not of type \"string\"")]
#[case("{}", json!({}), "at /: \"zone\" is a required property")]
#[case(r#"{"zone": "UT"#, json!({}), "the arguments are not valid JSON")]
#[case("[1]", json!({}), "the arguments are not a JSON object")]
#[case(r#"{"zone": "UTC", "id": 12345678901234567890123}"#, json!({}), "an integer in the arguments is longer than 64 bits")]
#[tokio::test]
async fn arguments_that_do_not_fit_never_reach_the_tool(
    #[case] arguments: &str,
    #[case] recorded: Value,
    #[case] why: &str,
) {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let schema =
        json!({"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]});
    let (record, result) = call(tool_taking(&fake_tools, "time", schema), "time", arguments).await;
    assert_eq!(record.status, "invalid_arguments");
    assert_eq!(record.arguments, recorded);
    assert_eq!(result, json!({"status": "invalid_arguments", "error": why}));
    assert!(fake_tools.calls().is_empty());
}

#[tokio::test]
async fn a_tool_that_the_agent_lacks_is_unknown() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let (record, result) = call(tool(&fake_tools, "time"), "files", "{}").await;
    assert_eq!(
        (record.name.as_str(), record.status.as_str()),
        ("files", "unknown_tool")
    );
    let why = "there is no such tool; the tools are: time";
    assert_eq!(result, json!({"status": "unknown_tool", "error": why}));
    assert!(fake_tools.calls().is_empty());
}

#[rstest]
#[case("functions.time")]
#[case("time<|channel|>commentary")]
#[case(" time")]
#[tokio::test]
async fn a_tool_is_found_by_a_decorated_name(#[case] function: &str) {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let (record, result) = call(tool(&fake_tools, "time"), function, "{}").await;
    assert_eq!(
        (record.name.as_str(), record.status.as_str()),
        ("time", "ok")
    );
    assert_eq!(result["status"], "ok");
}

/// Servers reject a whole request for such a name.
#[tokio::test]
async fn an_invalid_name_is_not_sent_back() {
    let responses = [
        call_stream(&[("a", "what? {}", "{}")]),
        text_stream("Well."),
    ];
    let (upstream, engine) = fixture(responses).await;
    collect_reply(&engine, request(0)).await;
    let messages = &upstream.bodies()[1]["messages"];
    let call = &messages[2]["tool_calls"][0];
    assert_eq!(call["function"]["name"], "what____", "{messages}");
}

#[tokio::test]
async fn a_call_whose_arguments_did_not_arrive_is_not_run() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let piece = |piece: Value| json!({"choices": [{"delta": {"tool_calls": [piece]}}]});
    let calls = [
        piece(json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": ""}})),
        piece(json!({"index": 1, "id": "b", "function": {"name": "time", "arguments": ""}})),
        piece(json!({"index": 2, "function": {"arguments": "{\"zone\": \"UTC\"}"}})),
        finish("tool_calls"),
    ];
    let (_upstream, engine) = fixture([stream(&calls), text_stream("Well.")]).await;
    let request = ReplyRequest {
        tools: vec![tool(&fake_tools, "time")],
        ..request(0)
    };
    let reply = collect_reply(&engine, request).await;
    let returned = reply.chunks.iter().filter_map(|chunk| match chunk {
        ReplyChunk::ToolReturned(record) => Some((record.status.as_str(), &*record.result)),
        _ => None,
    });
    let returned: Vec<_> = returned.collect();
    let why = "the arguments did not arrive; call the tool again";
    assert_eq!(returned[0], ("invalid_arguments", why));
    assert_eq!(returned[1].0, "ok");
    assert_eq!(fake_tools.calls().len(), 1);
}

#[rstest]
#[case("files_read")]
#[case("files/read")]
#[tokio::test]
async fn an_unavailable_tool_is_not_offered_and_its_calls_fail(#[case] function: &str) {
    let responses = [call_stream(&[("a", function, "{}")]), text_stream("Well.")];
    let (upstream, engine) = fixture(responses).await;
    let mut request = request(0);
    Arc::make_mut(&mut request.agent).capabilities = vec!["orders".to_owned(), "files".to_owned()];
    request.unavailable_tools = vec!["files".to_owned(), "files/read".to_owned()];
    let reply = collect_reply(&engine, request).await;
    let ReplyChunk::ToolReturned(record) = &reply.chunks[1] else {
        panic!("{reply:?}")
    };
    assert_eq!(
        (record.name.as_str(), record.status.as_str()),
        ("files/read", "unavailable")
    );
    let body = &upstream.bodies()[0];
    let system = body["messages"][0]["content"].as_str().expect("text");
    assert!(
        system.contains("orders") && !system.contains("files"),
        "{system}"
    );
    assert_eq!(body.get("tools"), None);
}

#[tokio::test]
async fn a_long_result_is_truncated() {
    let fake_tools = Arc::default();
    let (record, result) = call(tool(&fake_tools, "long"), "long", "{}").await;
    assert_eq!(record.status, "ok");
    assert_eq!(result["data"], "🦊".repeat(64 * 1024 / 4));
    assert_eq!(
        result["note"],
        "only the beginning: the answer was too long"
    );
}

#[rstest]
#[case("length", FinishReason::Length)]
#[case("content_filter", FinishReason::ContentFilter)]
#[tokio::test]
async fn a_truncated_call_is_not_executed(#[case] reason: &str, #[case] expected: FinishReason) {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let part = json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": "{}"}});
    let call = json!({"choices": [{"delta": {"tool_calls": [part]}}]});
    let (upstream, engine) = fixture([stream(&[call, finish(reason)])]).await;
    let request = ReplyRequest {
        tools: vec![tool(&fake_tools, "time")],
        ..request(0)
    };
    let reply = collect_reply(&engine, request).await;
    assert_eq!(reply.end().0, expected);
    assert!(fake_tools.calls().is_empty());
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn a_dropped_stream_stops_the_tool() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let (_upstream, engine) = fixture([call_stream(&[("a", "hangs", "{}")])]).await;
    let request = ReplyRequest {
        tools: vec![tool(&fake_tools, "hangs")],
        ..request(0)
    };
    let mut stream = engine.reply(request).await.unwrap();
    assert!(matches!(
        stream.next().await,
        Some(Ok(ReplyChunk::ToolCalled { .. }))
    ));
    let mut next = Box::pin(stream.next());
    while fake_tools.calls().is_empty() {
        assert!(futures::poll!(&mut next).is_pending());
        tokio::task::yield_now().await;
    }
    drop(next);
    drop(stream);
    assert_eq!(Arc::strong_count(&fake_tools), 1, "the tool was dropped");
}
