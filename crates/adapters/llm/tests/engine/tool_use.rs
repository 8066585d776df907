//! Answers for which the model uses tools.

use std::sync::Arc;

use contract::reply_engine::request;
use domain::{FinishReason, Usage};
use ports::ReplyChunk;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::{
    given::{given, hear},
    tools::{Bench, request_with, tool, tool_taking},
    upstream::{calling, delta, finish, saying, stream, usage},
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
async fn offers_tools_as_functions() {
    let bench = Arc::default();
    let (upstream, engine) = given([saying("Hi")]).await;
    let schema =
        json!({"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]});
    let mut request = request(0);
    request.tools = vec![
        tool_taking(&bench, "time", schema.clone()),
        tool_taking(&bench, "files/read", json!({})),
        tool_taking(&bench, "bad", json!({"type": "nonsense"})),
        tool(&bench, "time"),
    ];
    hear(&engine, request).await;
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
async fn offers_as_many_tools_as_a_question_may_have() {
    let bench = Arc::default();
    let names: Vec<_> = (0..130).map(|number| format!("tool-{number}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let (upstream, engine) = given([saying("Hi")]).await;
    hear(&engine, request_with(&bench, &names)).await;
    let body = upstream.bodies().remove(0);
    let tools = body["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 128);
    assert_eq!(tools[127]["function"]["name"], "tool-127");
}

#[tokio::test]
async fn calls_tools_and_answers_with_what_they_say() {
    let bench = Arc::default();
    let calls = calling(&[
        ("id-1", "files_read", r#"{"path": "a"}"#),
        ("id-2", "slow", ""),
        ("id-3", "time", "{}"),
    ]);
    let (upstream, engine) = given([calls, saying("It is noon.")]).await;
    let request = request_with(&bench, &["time", "slow", "files/read"]);
    let said = hear(&engine, request).await;
    assert_eq!(said.end().0, FinishReason::Stop);
    assert_eq!(said.text(), "It is noon.");
    assert_eq!(said.chunks[0], called("files/read", json!({"path": "a"})));
    assert_eq!(said.chunks[1], called("slow", json!({})));
    assert_eq!(said.chunks[2], called("time", json!({})));
    assert_returned(&said.chunks[3], "files/read", "ok");
    assert_returned(&said.chunks[4], "slow", "ok");
    assert_returned(&said.chunks[5], "time", "ok");

    let [first, second] = &upstream.bodies()[..] else {
        panic!("two questions")
    };
    let before = first["messages"].as_array().unwrap().len();
    let added = &second["messages"].as_array().unwrap()[before..];
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let answer = |id: &str, said: &str| {
        let content = json!({"status": "ok", "data": said}).to_string();
        json!({"role": "tool", "tool_call_id": id, "content": content})
    };
    let expected = [
        json!({"role": "assistant", "content": null, "tool_calls": [
            call("id-1", "files_read", r#"{"path": "a"}"#),
            call("id-2", "slow", "{}"),
            call("id-3", "time", "{}"),
        ]}),
        answer("id-1", "files/read says \"hello\""),
        answer("id-2", "slow"),
        answer("id-3", "time says \"hello\""),
    ];
    assert_eq!(json!(added), json!(expected));
    assert_eq!(first["tools"], second["tools"]);
}

/// Servers refuse two answers to one call.
#[tokio::test]
async fn no_two_calls_of_a_turn_are_told_back_under_one_id() {
    let bench = Arc::default();
    let first = calling(&[("", "time", "{}"), ("call_0", "time", "{}")]);
    let second = calling(&[
        ("call_0", "time", "{}"),
        ("b", "time", "{}"),
        ("b", "time", "{}"),
    ]);
    let (upstream, engine) = given([first, second, saying("Noon.")]).await;
    let said = hear(&engine, request_with(&bench, &["time"])).await;
    assert_eq!(said.text(), "Noon.");
    let body = upstream.bodies().remove(2);
    let messages = body["messages"].as_array().unwrap();
    let of_calls = messages.iter().filter_map(|it| it["tool_calls"].as_array());
    let calls: Vec<_> = of_calls.flatten().map(|call| &call["id"]).collect();
    let of_answers = messages.iter().filter(|it| it["role"] == "tool");
    let answers: Vec<_> = of_answers.map(|it| &it["tool_call_id"]).collect();
    assert_eq!(calls, ["call_1", "call_0", "call_2", "b", "call_3"]);
    assert_eq!(answers, calls);
}

/// Three calls meet, or none of them returns.
#[tokio::test]
async fn calls_of_a_round_run_at_once() {
    let bench = Arc::new(Bench {
        meeting: Some(Barrier::new(3)),
        ..Bench::default()
    });
    let calls = calling(&[
        ("a", "meet", "{}"),
        ("b", "meet", "{}"),
        ("c", "meet", "{}"),
    ]);
    let (_upstream, engine) = given([calls, saying("All met.")]).await;
    let said = hear(&engine, request_with(&bench, &["meet"])).await;
    assert_eq!(said.text(), "All met.");
    for returned in &said.chunks[3..6] {
        assert_returned(returned, "meet", "ok");
    }
}

#[tokio::test]
async fn what_was_said_before_a_call_stays_part_of_the_answer() {
    let bench = Arc::default();
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
    let (upstream, engine) = given([first, second]).await;
    let said = hear(&engine, request_with(&bench, &["time"])).await;
    assert_eq!(said.text(), "Let me look.\n\nIt is noon.");
    let counted = Usage {
        input_tokens: 30,
        output_tokens: 8,
    };
    assert_eq!(said.end(), (FinishReason::Stop, Some(counted)));
    let messages = &upstream.bodies()[1]["messages"];
    let assistant = &messages.as_array().unwrap()[2];
    assert_eq!(assistant["content"], "Let me look.");
}

#[tokio::test]
async fn gives_back_what_a_server_adds_to_its_calls() {
    let bench = Arc::default();
    let signature = json!({"google": {"thought_signature": "abc"}});
    let part = json!({"tool_calls": [{"id": "a", "extra_content": signature, "function": {"name": "time", "arguments": "{}"}}], "reasoning_content": "hm"});
    let calls = stream(&[json!({"choices": [{"delta": part, "finish_reason": "stop"}]})]);
    let (upstream, engine) = given([calls, saying("Noon.")]).await;
    assert_eq!(
        hear(&engine, request_with(&bench, &["time"])).await.text(),
        "Noon."
    );
    let messages = &upstream.bodies()[1]["messages"];
    let assistant = &messages.as_array().unwrap()[2];
    assert_eq!(assistant["tool_calls"][0]["extra_content"], signature);
    assert_eq!(assistant["reasoning_content"], "hm");
}
