//! Rules that call a tool before they reply.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{FinishReason, ModelStep, Rule, ToolStep};
use futures::StreamExt as _;
use ports::{
    AgentTool, ModelChunk, ModelRequest, ProvidedTools, ReplyEngine as _, RequestedCall,
    ToolArguments, ToolContext, ToolDefinition, ToolError, ToolHints, ToolProvider,
};
use rule_engine::RuleReplyEngine;
use serde_json::{Value, json};

use crate::fixture::{agent_with, collect_reply, pattern_rule, request};

/// A provider for which nothing calls.
struct Uncalled;

#[async_trait]
impl ToolProvider for Uncalled {
    fn provided(&self) -> ProvidedTools {
        ProvidedTools::default()
    }

    async fn call(&self, _: &str, _: &ToolArguments, _: &ToolContext) -> Result<String, ToolError> {
        panic!("an engine calls no tools")
    }
}

fn acting_rule(reply: &str, call: Value) -> Rule {
    Rule {
        call: Some(serde_json::from_value(call).expect("a call")),
        ..pattern_rule(r"refund order (\d+)", reply)
    }
}

fn refund(reply: &str) -> Rule {
    let order =
        json!({"id": "{{capture.1}}", "tags": ["by {{user.id}}", 7, null, {"urgent": true}]});
    let arguments = json!({"order": order, "text": "{{message}}"});
    acting_rule(
        reply,
        json!({"tool": "shop/refund", "arguments": arguments}),
    )
}

/// A request to an agent that has a tool with this name.
fn request_to(rules: impl Into<Vec<Rule>>, tool: &str, message: &str) -> ModelRequest {
    let tool = AgentTool {
        function: tool.replace('/', "_"),
        definition: Arc::new(ToolDefinition {
            name: tool.to_owned(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
            hints: ToolHints::default(),
        }),
        provider: Some(Arc::new(Uncalled)),
    };
    ModelRequest {
        tools: Arc::new([tool]),
        ..request(&Arc::new(agent_with(rules)), message)
    }
}

fn engine() -> RuleReplyEngine {
    RuleReplyEngine::new().expect("threads can be started")
}

/// Returns the call that the engine asks for instead of a reply.
async fn asked(engine: &RuleReplyEngine, request: &ModelRequest) -> RequestedCall {
    let stream = engine.request(request.clone()).await.expect("a response");
    let chunks: Vec<ModelChunk> = stream.map(Result::unwrap).collect().await;
    let [
        ModelChunk::ToolCall(call),
        ModelChunk::End { finish_reason, .. },
    ] = &chunks[..]
    else {
        panic!("{chunks:?}");
    };
    assert_eq!(*finish_reason, FinishReason::Stop);
    call.clone()
}

/// Adds a call of `shop/refund` with its result as a step.
fn add_step(request: &mut ModelRequest, call_id: &str, arguments: &str, result: &Value) {
    let text = |member: &str| {
        result
            .get(member)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let (data, error) = (text("data"), text("error"));
    let status = result["status"].as_str().unwrap_or("ok");
    let text = data.or(error).expect("a result");
    let end = domain::ToolEnd::new(status, text, std::time::Duration::ZERO);
    let call = ToolStep {
        call_id: call_id.to_owned(),
        name: "shop/refund".to_owned(),
        function: "shop_refund".to_owned(),
        arguments: arguments.to_owned(),
        at: 0,
        visibility: None,
        repetition: domain::Repetition::Acts,
        wait: None,
        timeout_ms: None,
        end: Some(end),
    };
    request.steps.push(Arc::new(ModelStep {
        response: domain::ModelResponse::default(),
        calls: vec![call],
    }));
}

fn own_call(request: &ModelRequest) -> String {
    format!("{}-1", request.turn_id)
}

#[tokio::test]
async fn a_rule_calls_its_tool_and_then_replies_with_the_result() {
    let engine = engine();
    let rules = [refund("{{agent.name}}: {{result}} ({{capture.1}})")];
    let message = "Refund order 42, {{agent.name}}";
    let mut request = request_to(rules, "shop/refund", message);
    let call = asked(&engine, &request).await;
    assert_eq!(call.function, "shop_refund");
    let arguments = call.arguments.expect("arguments");
    let expected = json!({
        "order": {"id": "42", "tags": ["by u-1", 7, null, {"urgent": true}]}, "text": message,
    });
    assert_eq!(serde_json::from_str::<Value>(&arguments).unwrap(), expected);
    let result = json!({"status": "ok", "data": "done, {{message}} {{capture.1}}"});
    let id = own_call(&request);
    add_step(&mut request, &id, &arguments, &result);
    let (text, finish_reason) = collect_reply(&engine, request).await;
    assert_eq!(text, "Ada: done, {{message}} {{capture.1}} (42)");
    assert_eq!(finish_reason, FinishReason::Stop);
}

#[tokio::test]
async fn the_reason_of_a_failed_call_takes_the_place_of_its_result() {
    let mut request = request_to(
        [refund("Sorry: {{result}}.")],
        "shop/refund",
        "refund order 1",
    );
    let failed = json!({"status": "failed", "error": "the till is empty"});
    let id = own_call(&request);
    add_step(&mut request, &id, "{}", &failed);
    let (text, _) = collect_reply(&engine(), request).await;
    assert_eq!(text, "Sorry: the till is empty.");
}

#[tokio::test]
async fn a_tool_that_is_not_offered_is_asked_for_by_its_name() {
    let rules = [acting_rule("{{result}}", json!({"tool": "shop/refund"}))];
    let request = request_to(rules, "time", "refund order 1");
    let call = asked(&engine(), &request).await;
    assert_eq!(call.function, "shop/refund");
    assert_eq!(call.arguments.as_deref(), Some("{}"));
}

#[tokio::test]
async fn the_reply_is_the_one_of_the_turn() {
    let rule = Rule {
        reply: None,
        replies: Some(vec![
            "First {{result}}".to_owned(),
            "Then {{result}}".to_owned(),
        ]),
        ..refund("")
    };
    for (turn, expected) in [(0, "First ok"), (1, "Then ok"), (2, "First ok")] {
        let mut request = request_to([rule.clone()], "shop/refund", "refund order 1");
        request.turn_number = turn;
        let engine = engine();
        let arguments = asked(&engine, &request).await.arguments.unwrap();
        let id = own_call(&request);
        add_step(&mut request, &id, &arguments, &json!({"data": "ok"}));
        assert_eq!(collect_reply(&engine, request).await.0, expected);
    }
}

/// The steps of a turn that repeats another one begin with the calls of that one.
#[tokio::test]
async fn a_call_is_made_once_in_a_turn_and_not_again_if_it_was_made_before() {
    let engine = engine();
    let request = request_to([refund("{{result}}")], "shop/refund", "refund order 1");
    let arguments = asked(&engine, &request).await.arguments.unwrap();
    let made = json!({"status": "ok", "data": "made"});
    for (call_id, arguments) in [
        (own_call(&request), "{}"),
        ("before-1".to_owned(), &arguments),
    ] {
        let mut request = request.clone();
        add_step(&mut request, &call_id, arguments, &made);
        assert_eq!(collect_reply(&engine, request).await.0, "made");
    }
    let mut other = request.clone();
    add_step(&mut other, "before-1", r#"{"order": "another one"}"#, &made);
    other.earlier_steps = std::mem::take(&mut other.steps);
    assert_eq!(asked(&engine, &other).await.arguments, Some(arguments));
}

#[tokio::test]
async fn a_rule_that_may_not_call_says_so() {
    let mut request = request_to(
        [refund("Sorry: {{result}}.")],
        "shop/refund",
        "refund order 1",
    );
    request.may_call = false;
    let (text, _) = collect_reply(&engine(), request).await;
    assert_eq!(text, "Sorry: no more calls in this turn.");
}

/// The agent loop makes no call with more than 64 KiB of arguments.
#[tokio::test]
async fn arguments_that_became_too_long_stay_too_long_and_limited() {
    let arguments = json!({"texts": vec!["{{message}}"; 3_000]});
    let rules = [acting_rule(
        "",
        json!({"tool": "time", "arguments": arguments}),
    )];
    let message = format!("refund order 1 {}", "x".repeat(31_000));
    let request = request_to(rules, "time", &message);
    let arguments = asked(&engine(), &request).await.arguments.unwrap();
    assert!(
        (64 * 1024 + 1..192 * 1024).contains(&arguments.len()),
        "{}",
        arguments.len()
    );
}

#[tokio::test]
async fn a_test_of_rules_shows_the_call_and_makes_none() {
    let rules = [
        pattern_rule("no", "no call"),
        refund("{{user.id}}: {{result}}"),
    ];
    let request = request_to(rules, "shop/refund", "refund order 7");
    let test = engine().test_rules(request).await.unwrap().unwrap();
    assert_eq!(test.reply, "u-1: {{result}}");
    assert_eq!(test.matched_rule, Some(1));
    let order = json!({"id": "7", "tags": ["by u-1", 7, null, {"urgent": true}]});
    let arguments = json!({"order": order, "text": "refund order 7"});
    let expected = json!({"tool": "shop/refund", "arguments": arguments});
    assert_eq!(serde_json::to_value(test.call).unwrap(), expected);
}

/// The rules have changed between the call and the decision of staff.
#[tokio::test]
async fn the_result_is_the_reply_if_no_rule_makes_the_reported_call_any_more() {
    let catch_all = pattern_rule(".*", "Anything else?");
    let other = acting_rule("Sent: {{result}}", json!({"tool": "shop/send"}));
    let changed = acting_rule(
        "Now: {{result}}",
        json!({"tool": "shop/refund", "arguments": {"id": "2"}}),
    );
    for rules in [vec![], vec![catch_all], vec![other], vec![changed]] {
        let mut request = request_to(rules, "shop/refund", "refund order 1");
        let result = json!({"status": "ok", "data": "refunded"});
        add_step(&mut request, "another-1", r#"{"id":"1"}"#, &result);
        let (text, _) = collect_reply(&engine(), request).await;
        assert_eq!(text, "refunded");
    }
}
