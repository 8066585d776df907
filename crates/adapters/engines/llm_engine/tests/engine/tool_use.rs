//! Responses with tool calls, and the requests after them.

use std::sync::Arc;

use contract::reply_engine::request;
use domain::{FinishReason, Usage};
use ports::{ModelRequest, RequestedCall, ToolChoice, ToolUse};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    fixture::{collect_reply, fixture},
    tools::{after, request_with, tool_taking},
    upstream::{call_stream, delta, finish, stream, text_stream, usage},
};

fn asked(function: &str, arguments: &str) -> RequestedCall {
    RequestedCall {
        function: function.to_owned(),
        arguments: Some(arguments.to_owned()),
    }
}

#[tokio::test]
async fn tools_are_offered_as_functions() {
    let (upstream, engine) = fixture([text_stream("Hi")]).await;
    let schema =
        json!({"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]});
    let request = ModelRequest {
        tools: [
            tool_taking("time", schema.clone()),
            tool_taking("files/read", json!({})),
        ]
        .into(),
        ..request(0)
    };
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
async fn a_model_that_may_not_call_is_told_so() {
    let (upstream, engine) = fixture([text_stream("Enough.")]).await;
    for names in [&["time"][..], &[]] {
        let request = ModelRequest {
            may_call: false,
            ..request_with(names)
        };
        collect_reply(&engine, request).await;
    }
    let bodies = upstream.bodies();
    assert_eq!(bodies[0]["tool_choice"], "none");
    assert_eq!(bodies[0]["tools"].as_array().map(Vec::len), Some(1));
    assert_eq!(bodies[1].get("tool_choice"), None);
}

#[tokio::test]
async fn what_the_client_demands_of_tool_calls_is_passed_on() {
    let (upstream, engine) = fixture([text_stream("Noon.")]).await;
    let named = || ToolChoice::Function("time".to_owned());
    for (names, may_call, choice, parallel) in [
        (&["time"][..], true, ToolChoice::Required, None),
        (&["time"], true, named(), Some(false)),
        (&["time"], true, ToolChoice::Auto, Some(true)),
        (&["time"], false, named(), Some(true)),
        (&[], true, ToolChoice::Required, Some(true)),
    ] {
        let request = ModelRequest {
            may_call,
            tool_use: ToolUse { choice, parallel },
            ..request_with(names)
        };
        collect_reply(&engine, request).await;
    }
    let bodies = upstream.bodies();
    let sent = bodies
        .iter()
        .map(|body| (body.get("tool_choice"), body.get("parallel_tool_calls")));
    let function = json!({"type": "function", "function": {"name": "time"}});
    let (required, none) = (json!("required"), json!("none"));
    let (yes, no) = (json!(true), json!(false));
    let expected = [
        (Some(&required), None),
        (Some(&function), Some(&no)),
        (None, Some(&yes)),
        (Some(&none), None),
        (None, None),
    ];
    assert_eq!(sent.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn calls_are_reported_and_sent_back_with_their_results() {
    let calls = call_stream(&[
        ("id-1", "files_read", r#"{"path": "a"}"#),
        ("id-2", "time", "{}"),
    ]);
    let (upstream, engine) = fixture([calls, text_stream("It is noon.")]).await;
    let request = request_with(&["time", "files/read"]);
    let reply = collect_reply(&engine, request.clone()).await;
    let expected = [asked("files_read", r#"{"path": "a"}"#), asked("time", "{}")];
    assert_eq!(reply.calls(), expected);
    assert_eq!(
        (reply.text(), reply.end().0),
        (String::new(), FinishReason::Stop)
    );
    let last = collect_reply(&engine, after(request, &reply)).await;
    assert_eq!(last.text(), "It is noon.");

    let [first, second] = &upstream.bodies()[..] else {
        panic!("two requests")
    };
    let before = first["messages"].as_array().unwrap().len();
    let added = &second["messages"].as_array().unwrap()[before..];
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": r#"{"data":"noon","status":"ok"}"#});
    let expected = [
        json!({"role": "assistant", "content": null, "tool_calls": [
            call("id-1", "files_read", r#"{"path": "a"}"#),
            call("id-2", "time", "{}"),
        ]}),
        result("id-1"),
        result("id-2"),
    ];
    assert_eq!(json!(added), json!(expected));
    assert_eq!(first["tools"], second["tools"]);
}

/// Servers reject two results of one call.
#[tokio::test]
async fn calls_of_a_turn_have_unique_ids() {
    let first = call_stream(&[("", "time", "{}"), ("call_0", "time", "{}")]);
    let second = call_stream(&[
        ("call_0", "time", "{}"),
        ("b", "time", "{}"),
        ("b", "time", "{}"),
    ]);
    let (upstream, engine) = fixture([first, second, text_stream("Noon.")]).await;
    let mut request = request_with(&["time"]);
    for _ in 0..2 {
        let reply = collect_reply(&engine, request.clone()).await;
        request = after(request, &reply);
    }
    assert_eq!(collect_reply(&engine, request).await.text(), "Noon.");
    let body = upstream.bodies().remove(2);
    let messages = body["messages"].as_array().unwrap();
    let of_calls = messages.iter().filter_map(|it| it["tool_calls"].as_array());
    let calls: Vec<_> = of_calls.flatten().map(|call| &call["id"]).collect();
    let tool_messages = messages.iter().filter(|it| it["role"] == "tool");
    let responses: Vec<_> = tool_messages.map(|it| &it["tool_call_id"]).collect();
    assert_eq!(calls, ["call_1", "call_0", "call_2", "b", "call_3"]);
    assert_eq!(responses, calls);
}

#[tokio::test]
async fn text_before_a_call_is_part_of_its_message() {
    let call = json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "time", "arguments": "{}"}}]}}]});
    let first = stream(&[
        delta("Let me look."),
        call,
        finish("tool_calls"),
        usage(10, 5),
    ]);
    let (upstream, engine) = fixture([first, text_stream("Noon.")]).await;
    let request = request_with(&["time"]);
    let reply = collect_reply(&engine, request.clone()).await;
    assert_eq!(reply.text(), "Let me look.");
    let counted = Usage {
        input_tokens: 10,
        output_tokens: 5,
        ..Usage::default()
    };
    assert_eq!(reply.end(), (FinishReason::Stop, Some(counted)));
    collect_reply(&engine, after(request, &reply)).await;
    let messages = &upstream.bodies()[1]["messages"];
    let assistant = &messages.as_array().unwrap()[2];
    assert_eq!(assistant["content"], "Let me look.");
}

#[tokio::test]
async fn additions_of_a_server_to_its_calls_are_sent_back() {
    let signature = json!({"google": {"thought_signature": "abc"}});
    let part = json!({"tool_calls": [{"id": "a", "extra_content": signature, "function": {"name": "time", "arguments": "{}"}}], "reasoning_content": "hm"});
    let calls = stream(&[json!({"choices": [{"delta": part, "finish_reason": "stop"}]})]);
    let (upstream, engine) = fixture([calls, text_stream("Noon.")]).await;
    let request = request_with(&["time"]);
    let reply = collect_reply(&engine, request.clone()).await;
    collect_reply(&engine, after(request, &reply)).await;
    let messages = &upstream.bodies()[1]["messages"];
    let assistant = &messages.as_array().unwrap()[2];
    assert_eq!(assistant["tool_calls"][0]["extra_content"], signature);
    assert_eq!(assistant["reasoning_content"], "hm");
}

#[tokio::test]
async fn a_call_whose_arguments_did_not_arrive_has_none() {
    let piece = |piece: Value| json!({"choices": [{"delta": {"tool_calls": [piece]}}]});
    let calls = [
        piece(json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": ""}})),
        piece(json!({"index": 1, "id": "b", "function": {"name": "time", "arguments": ""}})),
        piece(json!({"index": 2, "function": {"arguments": "{\"zone\": \"UTC\"}"}})),
        finish("tool_calls"),
    ];
    let (_upstream, engine) = fixture([stream(&calls)]).await;
    let reply = collect_reply(&engine, request_with(&["time"])).await;
    let lost = RequestedCall {
        function: "time".to_owned(),
        arguments: None,
    };
    assert_eq!(reply.calls(), [lost, asked("time", "{\"zone\": \"UTC\"}")]);
}

#[rstest]
#[case("length", FinishReason::Length)]
#[case("content_filter", FinishReason::ContentFilter)]
#[tokio::test]
async fn a_truncated_response_says_so(#[case] reason: &str, #[case] expected: FinishReason) {
    let part = json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": "{}"}});
    let call = json!({"choices": [{"delta": {"tool_calls": [part]}}]});
    let (_upstream, engine) = fixture([stream(&[call, finish(reason)])]).await;
    let reply = collect_reply(&engine, request_with(&["time"])).await;
    assert_eq!(reply.end().0, expected);
}

#[tokio::test]
async fn an_unavailable_tool_is_not_offered() {
    let (upstream, engine) = fixture([text_stream("Well.")]).await;
    let mut request = request(0);
    Arc::make_mut(&mut request.agent).capabilities = vec!["orders".to_owned(), "files".to_owned()];
    request.unavailable_tools = vec!["files".to_owned(), "files/read".to_owned()];
    collect_reply(&engine, request).await;
    let body = &upstream.bodies()[0];
    let system = body["messages"][0]["content"].as_str().expect("text");
    assert!(
        system.contains("orders") && !system.contains("files"),
        "{system}"
    );
    assert_eq!(body.get("tools"), None);
}
