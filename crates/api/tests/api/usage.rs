//! The token counts of turns, however they end.

use domain::{FinishReason, Usage};
use ports::ReplyError;
use serde_json::{Value, json};

use crate::{
    api_server::ApiServer,
    engines::{scripted_agent, turn},
    script::{EngineCall, Script},
};

/// Starts a turn whose first request calls a tool, and returns the second one.
async fn start_turn(api: &ApiServer, script: &mut Script, agent: &str) -> (Value, EngineCall) {
    let request = api.writer().request("POST", "/api/chat");
    let request = request.header("Prefer", "respond-async");
    let body = json!({"agentId": agent, "message": "When?"});
    let response = request.json(&body).send().await;
    assert_eq!(response.status, 202);
    let usage = Usage {
        input_tokens: 30,
        output_tokens: 20,
        cached_input_tokens: Some(10),
        reasoning_tokens: None,
    };
    script.next_call().await.use_tool_with("clock", usage);
    let begun = serde_json::from_slice(&response.body).expect("JSON");
    (begun, script.next_call().await)
}

/// The turn, after it has ended.
async fn ended(api: &ApiServer, begun: &Value) -> Value {
    loop {
        let turn = turn(api, begun["id"].as_str().expect("an id")).await;
        if turn["status"] != "in_progress" {
            return turn;
        }
        tokio::task::yield_now().await;
    }
}

fn first_usage() -> Value {
    json!({"inputTokens": 30, "outputTokens": 20, "cachedInputTokens": 10})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completed_turn_has_the_sum_of_its_requests() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let (begun, call) = start_turn(&api, &mut script, &agent).await;
    call.send_text("Now.").await;
    let usage = Usage {
        input_tokens: 50,
        output_tokens: 7,
        cached_input_tokens: Some(30),
        reasoning_tokens: Some(5),
    };
    call.end_with(FinishReason::Stop, Some(usage));
    let turn = ended(&api, &begun).await;
    let sum = json!({
        "inputTokens": 80, "outputTokens": 27, "cachedInputTokens": 40, "reasoningTokens": 5,
    });
    assert_eq!(
        (&turn["status"], &turn["usage"]),
        (&json!("completed"), &sum)
    );
    assert_eq!(turn["reply"]["usage"], sum);
    let conversation = begun["conversationId"].as_str().unwrap();
    let path = format!("/api/conversations/{conversation}/messages");
    let messages = api.reader().get(&path).await.ok();
    assert_eq!(messages["data"][1]["usage"], sum);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_turn_has_the_usage_before_its_failure() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let (begun, call) = start_turn(&api, &mut script, &agent).await;
    call.fail(ReplyError::TimedOut);
    let turn = ended(&api, &begun).await;
    assert_eq!(
        (&turn["status"], &turn["reply"]),
        (&json!("failed"), &Value::Null)
    );
    assert_eq!(turn["usage"], first_usage());
    let path = "/api/events?since=0&types=turn.failed";
    let events = api.reader().get(path).await.ok();
    assert_eq!(events["data"][0]["data"]["turn"], turn);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_turn_has_the_usage_before_its_cancellation() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    for text in ["", "It is "] {
        let (begun, call) = start_turn(&api, &mut script, &agent).await;
        if !text.is_empty() {
            call.send_text(text).await;
        }
        let path = format!("/api/turns/{}/cancel", begun["id"].as_str().unwrap());
        let turn = api.writer().request("POST", &path).send().await.ok();
        assert_eq!(
            (&turn["status"], &turn["usage"]),
            (&json!("cancelled"), &first_usage())
        );
        assert_eq!(turn["reply"]["usage"].is_null(), text.is_empty());
        assert_eq!(ended(&api, &begun).await, turn);
    }
    api.stop().await;
}
