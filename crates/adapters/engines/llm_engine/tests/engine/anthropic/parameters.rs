//! The parameters and headers of requests.

use std::sync::Arc;

use contract::reply_engine::request;
use domain::{LlmSettings, ReasoningEffort, ResponseSchema, ShowReasoning};
use llm_engine::{LlmOptions, LlmReplyEngine};
use ports::{ModelRequest, ReplyEngine as _, ToolChoice, ToolUse};
use rstest::rstest;
use serde_json::{Value, json};

use super::{fixture, options_of};
use crate::{
    fixture::{KEY, collect_reply},
    tools::{request_with, tool_taking},
    upstream::{Response, Upstream, message, text_block},
};

fn greeting() -> Response {
    message("end_turn", &[text_block(0, &["Hi"])])
}

/// Returns the body of a request of an agent with these settings, without its prompt.
async fn body(settings: LlmSettings) -> Value {
    let (upstream, engine) = fixture([greeting()]).await;
    let mut request = request(0);
    Arc::make_mut(&mut request.agent).config.llm = Some(settings);
    collect_reply(&engine, request).await;
    let mut body = upstream.bodies().remove(0);
    let members = body.as_object_mut().expect("an object");
    members.remove("messages");
    members.remove("system");
    body
}

#[tokio::test]
async fn the_default_request_has_a_limit_and_names_the_version() {
    let (upstream, engine) = fixture([greeting()]).await;
    collect_reply(&engine, request(0)).await;
    let received = upstream.requests().remove(0);
    assert_eq!(received.line, "POST /v1/messages");
    assert_eq!(received.header("anthropic-version"), Some("2026-10-21"));
    let bearer = format!("Bearer {KEY}");
    assert_eq!(received.header("authorization"), Some(bearer.as_str()));
    let expected = json!({"model": "model-of-the-operator", "max_tokens": 8192, "stream": true});
    assert_eq!(body(LlmSettings::default()).await, expected);
}

#[tokio::test]
async fn parameters_that_the_version_refuses_are_left_out() {
    let settings = LlmSettings {
        model: Some("claude".to_owned()),
        temperature: Some(1.0),
        top_p: Some(0.5),
        seed: Some(1),
        max_output_tokens: Some(100),
        stop: Some(vec!["END".to_owned(), " \n".to_owned()]),
        ..LlmSettings::default()
    };
    let expected =
        json!({"model": "claude", "max_tokens": 100, "stream": true, "stop_sequences": ["END"]});
    assert_eq!(body(settings).await, expected);
}

#[rstest]
#[case(None, None, json!({}))]
#[case(None, Some(ShowReasoning::Never), json!({}))]
#[case(None, Some(ShowReasoning::Staff), json!({"thinking": {"type": "adaptive", "display": "summarized"}}))]
#[case(Some(ReasoningEffort::None), Some(ShowReasoning::Everyone), json!({"thinking": {"type": "disabled"}}))]
#[case(Some(ReasoningEffort::Minimal), None, json!({"thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": "low"}}))]
#[case(Some(ReasoningEffort::Low), Some(ShowReasoning::Everyone), json!({"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "low"}}))]
#[case(Some(ReasoningEffort::Medium), None, json!({"thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": "medium"}}))]
#[case(Some(ReasoningEffort::High), None, json!({"thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": "high"}}))]
#[tokio::test]
async fn the_effort_of_reasoning_is_sent(
    #[case] reasoning_effort: Option<ReasoningEffort>,
    #[case] show_reasoning: Option<ShowReasoning>,
    #[case] expected: Value,
) {
    let settings = LlmSettings {
        reasoning_effort,
        show_reasoning,
        ..LlmSettings::default()
    };
    let body = body(settings).await;
    for member in ["thinking", "output_config"] {
        assert_eq!(body.get(member), expected.get(member), "{body}");
    }
}

#[tokio::test]
async fn the_schema_is_the_format_of_the_output() {
    let (upstream, engine) = fixture([greeting()]).await;
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    let mut request = request(0);
    request.response_schema =
        Some(serde_json::from_value::<ResponseSchema>(schema.clone()).expect("a schema"));
    collect_reply(&engine, request).await;
    let expected = json!({"format": {"type": "json_schema", "schema": schema}});
    assert_eq!(upstream.bodies()[0]["output_config"], expected);
}

#[tokio::test]
async fn tools_are_offered_and_the_last_is_marked() {
    let (upstream, engine) = fixture([greeting()]).await;
    let schema = json!({"type": "object", "properties": {"zone": {"type": "string"}}});
    let tools = [
        tool_taking("time", schema.clone()),
        tool_taking("files/read", json!({})),
    ];
    let request = ModelRequest {
        tools: tools.into(),
        ..request(0)
    };
    collect_reply(&engine, request).await;
    let body = upstream.bodies().remove(0);
    let expected = json!([
        {"name": "time", "description": "What time does.", "input_schema": schema},
        {"name": "files_read", "description": "What files/read does.", "input_schema": {"type": "object", "properties": {}},
         "cache_control": {"type": "ephemeral"}},
    ]);
    assert_eq!(body["tools"], expected);
    assert!(body.get("tool_choice").is_none());
}

#[rstest]
#[case(true, ToolChoice::Auto, Some(true), None)]
#[case(true, ToolChoice::Auto, Some(false), Some(json!({"type": "auto", "disable_parallel_tool_use": true})))]
#[case(true, ToolChoice::Required, None, Some(json!({"type": "any"})))]
#[case(true, ToolChoice::Function("time".to_owned()), Some(false), Some(json!({"type": "tool", "name": "time", "disable_parallel_tool_use": true})))]
#[case(false, ToolChoice::Required, Some(false), Some(json!({"type": "none"})))]
#[tokio::test]
async fn what_the_client_demands_of_tool_calls_is_passed_on(
    #[case] may_call: bool,
    #[case] choice: ToolChoice,
    #[case] parallel: Option<bool>,
    #[case] expected: Option<Value>,
) {
    let (upstream, engine) = fixture([greeting()]).await;
    for names in [&["time"][..], &[]] {
        let request = ModelRequest {
            may_call,
            tool_use: ToolUse {
                choice: choice.clone(),
                parallel,
            },
            ..request_with(names)
        };
        collect_reply(&engine, request).await;
    }
    let bodies = upstream.bodies();
    assert_eq!(bodies[0].get("tool_choice"), expected.as_ref());
    assert!(bodies[1].get("tool_choice").is_none() && bodies[1].get("tools").is_none());
}

#[tokio::test]
async fn permitted_members_are_added() {
    let upstream = Upstream::start([greeting()]).await;
    let members = json!({"service_tier": "auto", "speed": "fast"});
    let settings = LlmSettings {
        extra_body: members.as_object().cloned(),
        ..LlmSettings::default()
    };
    let mut request = request(0);
    Arc::make_mut(&mut request.agent).config.llm = Some(settings);
    for permitted in [None, Some(vec!["speed".to_owned()])] {
        let options = LlmOptions {
            extra_body: permitted,
            ..options_of(&upstream)
        };
        let engine = LlmReplyEngine::new(options).expect("an engine");
        collect_reply(&engine, request.clone()).await;
    }
    let bodies = upstream.bodies();
    let sent = bodies
        .iter()
        .map(|body| (body.get("service_tier"), body.get("speed")));
    assert_eq!(
        sent.collect::<Vec<_>>(),
        [(None, None), (None, Some(&json!("fast")))]
    );
}

#[tokio::test]
async fn members_of_the_service_cannot_be_permitted() {
    let (upstream, _) = fixture([greeting()]).await;
    for name in ["thinking", "system", "max_tokens"] {
        let options = LlmOptions {
            extra_body: Some(vec![name.to_owned()]),
            ..options_of(&upstream)
        };
        assert!(LlmReplyEngine::new(options).is_err(), "{name}");
    }
}

#[tokio::test]
async fn sound_is_no_input_whatever_the_setting_says() {
    let upstream = Upstream::start([greeting()]).await;
    let all = domain::FileKinds {
        image: true,
        pdf: true,
        audio: true,
    };
    let options = LlmOptions {
        inputs: Some(all),
        ..options_of(&upstream)
    };
    let engine = LlmReplyEngine::new(options).expect("an engine");
    let kinds = engine.inputs(&domain::AgentConfig::default()).await;
    assert_eq!([kinds.image, kinds.pdf, kinds.audio], [true, true, false]);
}
