//! Replies with tool calls.

use std::sync::Arc;

use contract::reply_engine::request;
use domain::{FinishReason, Usage};
use ports::ReplyChunk;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::{
    fixture::{collect_reply, fixture},
    tools::{FakeTools, request_with, tool, tool_taking},
    upstream::{call_stream, delta, finish, stream, text_stream, usage},
};

fn called(name: &str, arguments: Value) -> ReplyChunk {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object")
    };
    ReplyChunk::ToolCalled {
        name: name.to_owned(),
        arguments,
    }
}

#[track_caller]
fn assert_returned(chunk: &ReplyChunk, name: &str, status: &str) {
    match chunk {
        ReplyChunk::ToolReturned(call) => {
            assert_eq!((call.name.as_str(), call.status.as_str()), (name, status));
            assert!((0..10_000).contains(&call.duration_ms), "{call:?}");
        }
        other => panic!("{other:?} is not the end of a call"),
    }
}

#[tokio::test]
async fn tools_are_offered_as_functions() {
    let fake_tools = Arc::default();
    let (upstream, engine) = fixture([text_stream("Hi")]).await;
    let schema =
        json!({"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]});
    let mut request = request(0);
    request.tools = vec![
        tool_taking(&fake_tools, "time", schema.clone()),
        tool_taking(&fake_tools, "files/read", json!({})),
        tool_taking(&fake_tools, "bad", json!({"type": "nonsense"})),
        tool(&fake_tools, "time"),
    ];
    collect_reply(&engine, request).await;
    let body = upstream.bodies().remove(0);
    let function = |name: &str, capability: &str, parameters: Value| {
        let description = format!("What {capability} does.");
        json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
    };
    let nothing = json!({"type": "object", "properties": {}});
    let expected = [
        function("time", "time", schema),
        function("files_read", "files/read", nothing),
    ];
    assert_eq!(body["tools"], json!(expected));
    assert!(body.get("tool_choice").is_none());
}

#[tokio::test]
async fn the_number_of_offered_tools_is_limited() {
    let fake_tools = Arc::default();
    let names: Vec<_> = (0..130).map(|number| format!("tool-{number}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let (upstream, engine) = fixture([text_stream("Hi")]).await;
    collect_reply(&engine, request_with(&fake_tools, &names)).await;
    let body = upstream.bodies().remove(0);
    let tools = body["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 128);
    assert_eq!(tools[127]["function"]["name"], "tool-127");
}

#[tokio::test]
async fn tools_are_called_and_their_results_are_sent() {
    let fake_tools = Arc::default();
    let calls = call_stream(&[
        ("id-1", "files_read", r#"{"path": "a"}"#),
        ("id-2", "slow", ""),
        ("id-3", "time", "{}"),
    ]);
    let (upstream, engine) = fixture([calls, text_stream("It is noon.")]).await;
    let request = request_with(&fake_tools, &["time", "slow", "files/read"]);
    let reply = collect_reply(&engine, request).await;
    assert_eq!(reply.end().0, FinishReason::Stop);
    assert_eq!(reply.text(), "It is noon.");
    assert_eq!(reply.chunks[0], called("files/read", json!({"path": "a"})));
    assert_eq!(reply.chunks[1], called("slow", json!({})));
    assert_eq!(reply.chunks[2], called("time", json!({})));
    assert_returned(&reply.chunks[3], "files/read", "ok");
    assert_returned(&reply.chunks[4], "slow", "ok");
    assert_returned(&reply.chunks[5], "time", "ok");

    let [first, second] = &upstream.bodies()[..] else {
        panic!("two questions")
    };
    let before = first["messages"].as_array().unwrap().len();
    let added = &second["messages"].as_array().unwrap()[before..];
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let response = |id: &str, reply: &str| {
        let content = json!({"status": "ok", "data": reply}).to_string();
        json!({"role": "tool", "tool_call_id": id, "content": content})
    };
    let expected = [
        json!({"role": "assistant", "content": null, "tool_calls": [
            call("id-1", "files_read", r#"{"path": "a"}"#),
            call("id-2", "slow", "{}"),
            call("id-3", "time", "{}"),
        ]}),
        response("id-1", "files/read says \"hello\""),
        response("id-2", "slow"),
        response("id-3", "time says \"hello\""),
    ];
    assert_eq!(json!(added), json!(expected));
    assert_eq!(first["tools"], second["tools"]);
}

/// Servers reject two results of one call.
#[tokio::test]
async fn calls_of_a_turn_have_unique_ids() {
    let fake_tools = Arc::default();
    let first = call_stream(&[("", "time", "{}"), ("call_0", "time", "{}")]);
    let second = call_stream(&[
        ("call_0", "time", "{}"),
        ("b", "time", "{}"),
        ("b", "time", "{}"),
    ]);
    let (upstream, engine) = fixture([first, second, text_stream("Noon.")]).await;
    let reply = collect_reply(&engine, request_with(&fake_tools, &["time"])).await;
    assert_eq!(reply.text(), "Noon.");
    let body = upstream.bodies().remove(2);
    let messages = body["messages"].as_array().unwrap();
    let of_calls = messages.iter().filter_map(|it| it["tool_calls"].as_array());
    let calls: Vec<_> = of_calls.flatten().map(|call| &call["id"]).collect();
    let tool_messages = messages.iter().filter(|it| it["role"] == "tool");
    let responses: Vec<_> = tool_messages.map(|it| &it["tool_call_id"]).collect();
    assert_eq!(calls, ["call_1", "call_0", "call_2", "b", "call_3"]);
    assert_eq!(responses, calls);
}

/// Three calls wait for each other, or none of them returns.
#[tokio::test]
async fn calls_of_a_round_run_concurrently() {
    let fake_tools = Arc::new(FakeTools {
        meeting: Some(Barrier::new(3)),
        ..FakeTools::default()
    });
    let calls = call_stream(&[
        ("a", "meet", "{}"),
        ("b", "meet", "{}"),
        ("c", "meet", "{}"),
    ]);
    let (_upstream, engine) = fixture([calls, text_stream("All met.")]).await;
    let reply = collect_reply(&engine, request_with(&fake_tools, &["meet"])).await;
    assert_eq!(reply.text(), "All met.");
    for returned in &reply.chunks[3..6] {
        assert_returned(returned, "meet", "ok");
    }
}

#[tokio::test]
async fn text_before_a_call_is_part_of_the_reply() {
    let fake_tools = Arc::default();
    let call = json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "time", "arguments": "{}"}}]}}]});
    let first = stream(&[
        delta("Let me look."),
        call,
        finish("tool_calls"),
        usage(10, 5),
    ]);
    let second = stream(&[
        delta("It is "),
        delta("noon."),
        finish("stop"),
        usage(20, 3),
    ]);
    let (upstream, engine) = fixture([first, second]).await;
    let reply = collect_reply(&engine, request_with(&fake_tools, &["time"])).await;
    assert_eq!(reply.text(), "Let me look.\n\nIt is noon.");
    let counted = Usage {
        input_tokens: 30,
        output_tokens: 8,
    };
    assert_eq!(reply.end(), (FinishReason::Stop, Some(counted)));
    let messages = &upstream.bodies()[1]["messages"];
    let assistant = &messages.as_array().unwrap()[2];
    assert_eq!(assistant["content"], "Let me look.");
}

#[tokio::test]
async fn additions_of_a_server_to_its_calls_are_sent_back() {
    let fake_tools = Arc::default();
    let signature = json!({"google": {"thought_signature": "abc"}});
    let part = json!({"tool_calls": [{"id": "a", "extra_content": signature, "function": {"name": "time", "arguments": "{}"}}], "reasoning_content": "hm"});
    let calls = stream(&[json!({"choices": [{"delta": part, "finish_reason": "stop"}]})]);
    let (upstream, engine) = fixture([calls, text_stream("Noon.")]).await;
    assert_eq!(
        collect_reply(&engine, request_with(&fake_tools, &["time"]))
            .await
            .text(),
        "Noon."
    );
    let messages = &upstream.bodies()[1]["messages"];
    let assistant = &messages.as_array().unwrap()[2];
    assert_eq!(assistant["tool_calls"][0]["extra_content"], signature);
    assert_eq!(assistant["reasoning_content"], "hm");
}
