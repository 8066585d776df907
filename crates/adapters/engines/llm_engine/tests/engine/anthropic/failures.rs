//! Failures of the server.

use std::sync::Arc;

use contract::reply_engine::request;
use domain::{LlmSettings, ReasoningEffort, ShowReasoning};
use ports::{ReplyEngine as _, ReplyError};
use rstest::rstest;
use serde_json::{Value, json};

use super::fixture;
use crate::{
    fixture::{KEY, collect_reply},
    upstream::{Response, message, message_start, named, text_block, whole},
};

fn error(kind: &str) -> Value {
    let error = json!({"type": kind, "message": format!("{KEY} and the prompt")});
    json!({"type": "error", "error": error, "request_id": "req_1"})
}

fn greeting() -> Response {
    message("end_turn", &[text_block(0, &["Hi"])])
}

fn failing_stream(kind: &str, text: &[&str]) -> Response {
    let start = vec![message_start(
        &json!({"input_tokens": 1, "output_tokens": 1}),
    )];
    named(&[start, text_block(0, text), vec![error(kind)]].concat())
}

#[rstest]
#[case::overloaded(whole(529, "", &error("overloaded_error")))]
#[case::limited(whole(429, "retry-after: 0\r\n", &error("rate_limit_error")))]
#[case::in_a_stream(failing_stream("overloaded_error", &[]))]
#[case::in_a_stream_of_the_server(failing_stream("api_error", &[]))]
#[tokio::test]
async fn transient_failures_are_retried(#[case] first: Response) {
    let (upstream, engine) = fixture([first, greeting()]).await;
    assert_eq!(collect_reply(&engine, request(0)).await.text(), "Hi");
    assert_eq!(upstream.requests().len(), 2);
}

#[rstest]
#[case::invalid(whole(400, "", &error("invalid_request_error")))]
#[case::too_large(whole(413, "", &error("request_too_large")))]
#[case::without_credit(failing_stream("billing_error", &[]))]
#[case::in_a_stream(failing_stream("invalid_request_error", &[]))]
#[tokio::test]
async fn other_failures_are_not(#[case] first: Response) {
    let (upstream, engine) = fixture([first, greeting()]).await;
    let reply = collect_reply(&engine, request(0)).await;
    assert!(
        matches!(reply.error, Some(ReplyError::Rejected(_))),
        "{reply:?}"
    );
    assert!(!reply.failure().contains(KEY) && !reply.failure().contains("prompt"));
    assert_eq!(upstream.requests().len(), 1);
}

/// Returns what the requests said about reasoning, of an agent with these settings.
async fn asked_to_reason(refusals: &[&str], settings: LlmSettings) -> Vec<(Value, Value)> {
    let refusal = |text: &&str| {
        let error = json!({"type": "invalid_request_error", "message": text});
        whole(400, "", &json!({"type": "error", "error": error}))
    };
    let responses = refusals.iter().map(refusal).chain([greeting()]);
    let (upstream, engine) = fixture(responses).await;
    let mut request = request(0);
    Arc::make_mut(&mut request.agent).config.llm = Some(settings);
    // The second request shows what was learned.
    for _ in 0..2 {
        assert_eq!(collect_reply(&engine, request.clone()).await.text(), "Hi");
    }
    let bodies = upstream.bodies().into_iter();
    let sent = bodies.map(|body| {
        (
            body["thinking"]["type"].clone(),
            body["output_config"]["effort"].clone(),
        )
    });
    sent.collect()
}

#[tokio::test]
async fn a_model_that_does_not_reason_is_not_asked_to() {
    let none = (Value::Null, Value::Null);
    let of_effort = LlmSettings {
        reasoning_effort: Some(ReasoningEffort::High),
        ..LlmSettings::default()
    };
    let shown = LlmSettings {
        show_reasoning: Some(ShowReasoning::Staff),
        ..LlmSettings::default()
    };
    let refusal = "adaptive thinking is not supported on this model";
    let sent = asked_to_reason(&[refusal], of_effort.clone()).await;
    assert_eq!(
        sent,
        [
            (json!("adaptive"), json!("high")),
            none.clone(),
            none.clone()
        ]
    );
    let sent = asked_to_reason(&[refusal], shown).await;
    assert_eq!(
        sent,
        [(json!("adaptive"), Value::Null), none.clone(), none.clone()]
    );
    let sent = asked_to_reason(
        &["This model does not support the effort parameter."],
        of_effort,
    )
    .await;
    assert_eq!(
        sent,
        [(json!("adaptive"), json!("high")), none.clone(), none]
    );
}

#[tokio::test]
async fn a_model_that_always_reasons_is_asked_for_little() {
    let settings = LlmSettings {
        reasoning_effort: Some(ReasoningEffort::None),
        ..LlmSettings::default()
    };
    let refusal = "\"thinking.type.disabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.";
    let low = (json!("adaptive"), json!("low"));
    let expected = [(json!("disabled"), Value::Null), low.clone(), low];
    assert_eq!(asked_to_reason(&[refusal], settings).await, expected);
}

#[tokio::test]
async fn after_text_nothing_is_repeated() {
    let (upstream, engine) =
        fixture([failing_stream("overloaded_error", &["Hel"]), greeting()]).await;
    let reply = collect_reply(&engine, request(0)).await;
    assert_eq!(reply.text(), "Hel");
    assert!(matches!(reply.error, Some(ReplyError::Unavailable(_))));
    assert!(reply.failure().contains("overloaded_error"), "{reply:?}");
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn the_code_of_a_failure_is_told() {
    let error = json!({"type": "error", "error": {
        "type": "invalid_request_error", "message": "x", "details": {"error_code": "tool_name_conflict"},
    }});
    let (_upstream, engine) = fixture([whole(400, "", &error)]).await;
    let failure = collect_reply(&engine, request(0)).await.failure();
    let told = "400, code tool_name_conflict, type invalid_request_error";
    assert!(failure.contains(told), "{failure}");
}

#[tokio::test]
async fn a_stream_without_a_stop_reason_was_cut_off() {
    let start = vec![message_start(
        &json!({"input_tokens": 1, "output_tokens": 1}),
    )];
    let cut = named(&[start, text_block(0, &["Hel"])].concat());
    let cut: Response = cut.into_iter().chain([crate::upstream::end()]).collect();
    let (_upstream, engine) = fixture([cut]).await;
    let reply = collect_reply(&engine, request(0)).await;
    assert!(
        matches!(reply.error, Some(ReplyError::CutOff(_))),
        "{reply:?}"
    );
}

#[tokio::test]
async fn the_list_of_models_has_pages() {
    let model = |id: &str, image: Value| json!({"type": "model", "id": id, "lifecycle": "active", "capabilities": image});
    let supports = |image: bool| json!({"image_input": {"supported": image}, "pdf_input": {"supported": false}});
    let retired = json!({"type": "model", "id": "c", "lifecycle": "retired", "capabilities": null});
    let first =
        json!({"data": [model("b", supports(true)), retired], "has_more": true, "last_id": "c"});
    let last = json!({"data": [model("a", supports(false))], "has_more": false, "last_id": "a"});
    let (upstream, engine) = fixture([whole(200, "", &first), whole(200, "", &last)]).await;
    let names = engine.models().await;
    assert_eq!(names, Some(vec!["a".to_owned(), "b".to_owned()]));
    let lines: Vec<_> = upstream.requests().into_iter().map(|it| it.line).collect();
    let expected = [
        "GET /v1/models?limit=1000",
        "GET /v1/models?limit=1000&after_id=c",
    ];
    assert_eq!(lines, expected);
    let inputs = async |model: &str| {
        let llm = LlmSettings {
            model: Some(model.to_owned()),
            ..LlmSettings::default()
        };
        let config = domain::AgentConfig {
            llm: Some(llm),
            ..domain::AgentConfig::default()
        };
        let kinds = engine.inputs(&config).await;
        [kinds.image, kinds.pdf, kinds.audio]
    };
    assert_eq!(inputs("b").await, [true, false, false]);
    assert_eq!(inputs("a").await, [false; 3]);
    assert_eq!(inputs("unknown").await, [true, true, false]);
}
