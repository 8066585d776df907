//! The tool calls of turns, in every state and with every end.

use ports::ReplyError;
use serde_json::{Value, json};

use crate::{
    api_server::ApiServer,
    engines::{contents, scripted_agent, turn},
    event_streams::streamed,
    script::EngineCall,
};

/// Lets the engine of a running turn call one tool that returns and one that does not.
async fn call_tools(call: &EngineCall) {
    call.use_tool("calculator", json!({"expression": "17 * 24"}))
        .await;
    call.call_waiting_tool(&json!({"zone": "UTC"})).await;
}

/// The calls of a turn after this number of bytes; the second has this status.
fn assert_calls(turn: &Value, at: usize, status: &str) {
    let calls = turn["toolCalls"].as_array().expect("calls");
    let id = format!("{}-1", turn["id"].as_str().expect("an id"));
    let answered = json!({
        "id": id, "at": at, "result": "done", "name": "calculator", "arguments": {"expression": "17 * 24"}, "status": "ok",
        "durationMs": calls[0]["durationMs"],
    });
    let [first, second] = calls.as_slice() else {
        panic!("{turn}");
    };
    assert_eq!(*first, answered);
    assert_eq!(
        (&second["name"], &second["status"]),
        (&json!("wait"), &json!(status))
    );
    assert_eq!(second["arguments"], json!({"zone": "UTC"}));
    assert!(
        second["durationMs"].as_i64().is_some_and(|it| it >= 0),
        "{second}"
    );
}

/// Starts a turn, and accepts its call of the engine.
async fn start_turn(api: &ApiServer, agent: &str) -> Value {
    let request = api.writer().request("POST", "/api/chat");
    let request = request.header("Prefer", "respond-async");
    let body = json!({"agentId": agent, "message": "What is 17 * 24, and when?"});
    let response = request.json(&body).send().await;
    assert_eq!(response.status, 202);
    serde_json::from_slice(&response.body).expect("JSON")
}

async fn wait_for_end(api: &ApiServer, id: &str) -> Value {
    loop {
        let turn = turn(api, id).await;
        if turn["status"] != "in_progress" {
            return turn;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_turn_shows_the_calls_it_has_made() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let begun = start_turn(&api, &agent).await;
    let call = script.next_call().await;
    call_tools(&call).await;
    let running = turn(&api, begun["id"].as_str().unwrap()).await;
    assert_eq!(running["status"], "in_progress");
    assert_calls(&running, 0, "running");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_failed_keeps_the_calls_it_had_made() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let begun = start_turn(&api, &agent).await;
    let call = script.next_call().await;
    for _ in 0..2 {
        call.use_tool("calculator", json!({"expression": "17 * 24"}))
            .await;
    }
    call.fail(ReplyError::TimedOut);
    let failed = wait_for_end(&api, begun["id"].as_str().unwrap()).await;
    assert_eq!(failed["error"]["code"], "engine_timeout");
    let path = "/api/events?since=0&types=turn.failed";
    let events = api.reader().get(path).await.ok();
    assert_eq!(events["data"][0]["data"]["turn"], failed);
    let calls = failed["toolCalls"].as_array().expect("calls");
    let ended = |call: &Value| (call["status"].clone(), call["result"].clone());
    let ended: Vec<_> = calls.iter().map(ended).collect();
    assert_eq!(ended, vec![(json!("ok"), json!("done")); 2]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_was_cancelled_keeps_the_calls_it_had_made() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    for texts in ["", "Let me see. "] {
        let begun = start_turn(&api, &agent).await;
        let call = script.next_call().await;
        if !texts.is_empty() {
            call.send_text(texts).await;
        }
        call_tools(&call).await;
        let id = begun["id"].as_str().unwrap();
        let path = format!("/api/turns/{id}/cancel");
        let cancelled = api.writer().request("POST", &path).send().await.ok();
        assert_eq!(cancelled["status"], "cancelled");
        assert_calls(&cancelled, texts.len(), "outcome_unknown");
        assert_eq!(turn(&api, id).await, cancelled);
        let conversation = begun["conversationId"].as_str().unwrap();
        let messages = contents(&api, conversation).await;
        assert_eq!(messages.len(), if texts.is_empty() { 1 } else { 2 });
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_tool_calls_are_a_malformed_reply() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let begun = start_turn(&api, &agent).await;
    let call = script.next_call().await;
    for _ in 0..8 {
        call.use_tool("clock", json!({})).await;
    }
    call.use_tool_ignoring_errors("clock", &json!({}));
    let failed = wait_for_end(&api, begun["id"].as_str().unwrap()).await;
    assert_eq!(failed["error"]["code"], "engine_failed");
    assert_eq!(failed["toolCalls"].as_array().map(Vec::len), Some(8));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_readable_with_deeply_nested_arguments() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    // The stored form adds some levels of nesting: it could then be written but not read.
    let deep = (0..126).fold(json!({}), |inner, _| json!({"a": inner}));
    let begun = start_turn(&api, &agent).await;
    let call = script.next_call().await;
    call.use_tool("time", deep.clone()).await;
    call.use_tool("time", deep).await;
    call.answer("It is noon.").await;
    let completed = wait_for_end(&api, begun["id"].as_str().unwrap()).await;
    assert_eq!(completed["reply"]["content"], "It is noon.");
    let calls = completed["toolCalls"].as_array().expect("calls");
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|call| call["arguments"] == json!({})));
    let page = api.reader().get("/api/events?since=0").await.ok();
    let page = page["data"].as_array().expect("events");
    let last = page.last().expect("an event");
    assert_eq!(last["type"], "turn.completed");
    assert_eq!(last["data"]["turn"], completed);
    let mut stream = streamed(&api.reader(), "since=0").await;
    for event in page {
        let received = stream.next().await.expect("the stream goes on");
        assert_eq!(received.data, *event);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_arguments_are_kept_once_and_left_out_of_events() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let begun = start_turn(&api, &agent).await;
    let call = script.next_call().await;
    let numbers = json!({"numbers": vec![1; 30_000]});
    call.use_tool_times(16, "sum", &numbers).await;
    call.answer("Many.").await;
    let completed = wait_for_end(&api, begun["id"].as_str().unwrap()).await;
    assert_eq!(completed["status"], "completed");
    let calls = completed["toolCalls"].as_array().expect("calls");
    assert_eq!(calls.len(), 16);
    assert!(calls.iter().all(|call| call["arguments"] == numbers));
    let path = "/api/events?since=0&types=turn.completed";
    let events = api.reader().get(path).await.ok();
    let data = &events["data"][0]["data"];
    assert_eq!(data["omitted"], true);
    let received = data["turn"]["toolCalls"].as_array().expect("calls");
    assert_eq!(received.len(), 16);
    for call in received {
        let rest = (&call["name"], &call["status"], &call["arguments"]);
        assert_eq!(rest, (&json!("sum"), &json!("ok"), &json!({})));
    }
    api.stop().await;
}
