//! Servers that refuse parameters.

use std::sync::Arc;

use contract::reply_engine::request;
use domain::{LlmSettings, ReasoningEffort};
use llm_engine::{LlmOptions, LlmReplyEngine};
use ports::{ModelRequest, ReplyError};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    fixture::{collect_reply, fixture, options},
    upstream::{Response, Upstream, stream, text_stream, whole},
};

fn refusal(message: &str) -> Response {
    whole(400, "", &json!({"error": {"message": message}}))
}

/// A request with a limit of tokens, for a model.
fn limited(model: &str) -> ModelRequest {
    let mut request = request(0);
    Arc::make_mut(&mut request.agent).config.llm = Some(LlmSettings {
        model: Some(model.to_owned()),
        max_output_tokens: Some(100),
        ..LlmSettings::default()
    });
    request
}

/// The members of requests about which servers differ.
fn members(upstream: &Upstream) -> Vec<Vec<&'static str>> {
    let known = ["stream_options", "max_tokens", "max_completion_tokens"];
    let sent = |body: &Value| {
        known
            .into_iter()
            .filter(|name| body.get(name).is_some())
            .collect()
    };
    upstream.bodies().iter().map(sent).collect()
}

#[rstest]
#[case::as_text(refusal("stream_options: Extra inputs are not permitted"))]
#[case::as_pydantic(whole(422, "", &json!({"detail": [{"loc": ["body", "stream_options"], "type": "extra_forbidden"}]})))]
#[case::beside_null(whole(400, "", &json!({"error": null, "message": "unknown field stream_options"})))]
#[case::in_a_stream(stream(&[json!({"error": {"code": 400, "message": "stream_options?"}})]))]
#[tokio::test]
async fn a_refused_parameter_is_left_out_and_this_is_remembered(#[case] refusal: Response) {
    let (upstream, engine) = fixture([refusal, text_stream("Hi")]).await;
    for _ in 0..2 {
        assert_eq!(collect_reply(&engine, limited("a")).await.text(), "Hi");
    }
    let (all, without) = (["stream_options", "max_tokens"], ["max_tokens"]);
    let expected = [&all[..], &without, &without];
    assert_eq!(members(&upstream), expected);
}

#[tokio::test]
async fn the_name_of_the_token_limit_is_learned_for_each_model() {
    let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    let (upstream, engine) = fixture([refusal(message), text_stream("Hi")]).await;
    for model in ["new", "new", "old"] {
        assert_eq!(collect_reply(&engine, limited(model)).await.text(), "Hi");
    }
    let old = ["stream_options", "max_tokens"];
    let new = ["stream_options", "max_completion_tokens"];
    assert_eq!(members(&upstream), [old, new, new, old]);
    assert_eq!(upstream.bodies()[1]["max_completion_tokens"], 100);
}

/// The efforts of reasoning in requests of an agent that wants this one.
async fn efforts(wanted: ReasoningEffort, refusals: &[&str], replies: usize) -> Vec<Value> {
    let refusals = refusals.iter().map(|text| refusal(text));
    let (upstream, engine) = fixture(refusals.chain([text_stream("Hi")])).await;
    let mut request = limited("a");
    let llm = Arc::make_mut(&mut request.agent).config.llm.as_mut();
    llm.expect("settings").reasoning_effort = Some(wanted);
    for _ in 0..replies {
        assert_eq!(collect_reply(&engine, request.clone()).await.text(), "Hi");
    }
    let sent = upstream.bodies().into_iter();
    sent.map(|body| body["reasoning_effort"].clone()).collect()
}

#[tokio::test]
async fn a_refused_effort_is_replaced_by_the_next_one_and_then_left_out() {
    let value = |word: &str| {
        format!("Unsupported value: 'reasoning_effort' does not support '{word}' with this model.")
    };
    let sent = efforts(ReasoningEffort::None, &[&value("none")], 2).await;
    assert_eq!(sent, ["none", "minimal", "minimal"]);
    let (none, minimal) = (value("none"), value("minimal"));
    let values = [&none, &minimal, "reasoning_effort: must be high"];
    let sent = efforts(ReasoningEffort::None, &values, 2).await;
    let (none, minimal, low) = (json!("none"), json!("minimal"), json!("low"));
    assert_eq!(sent, [none, minimal, low, Value::Null, Value::Null]);
    let unknown = "Unrecognized request argument supplied: reasoning_effort";
    let sent = efforts(ReasoningEffort::High, &[unknown], 2).await;
    assert_eq!(sent, [json!("high"), Value::Null, Value::Null]);
}

#[tokio::test]
async fn each_parameter_is_changed_once() {
    let responses = [
        refusal("unknown parameter: stream_options"),
        refusal("use max_completion_tokens"),
        refusal("neither stream_options nor max_completion_tokens"),
    ];
    let (upstream, engine) = fixture(responses).await;
    let reply = collect_reply(&engine, limited("a")).await;
    assert!(
        matches!(reply.error, Some(ReplyError::Rejected(_))),
        "{reply:?}"
    );
    assert_eq!(
        members(&upstream)[1..],
        [["max_tokens"], ["max_completion_tokens"]]
    );
    // Nothing was learned, because no request succeeded.
    collect_reply(&engine, limited("a")).await;
    assert_eq!(members(&upstream)[3], ["stream_options", "max_tokens"]);
}

#[tokio::test]
async fn another_refusal_is_not_repeated() {
    let (upstream, engine) = fixture([refusal("max_tokens is too large: 100000")]).await;
    collect_reply(&engine, limited("a")).await;
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn the_operators_settings_are_not_changed() {
    let refusal = refusal("unknown: stream_options, max_completion_tokens");
    let upstream = Upstream::start([refusal]).await;
    for (stream_options, expected) in [
        (true, &["stream_options", "max_completion_tokens"][..]),
        (false, &["max_completion_tokens"]),
    ] {
        let options = LlmOptions {
            stream_options: Some(stream_options),
            max_completion_tokens: Some(true),
            ..options(upstream.base_url())
        };
        let engine = LlmReplyEngine::new(options).unwrap();
        collect_reply(&engine, limited("a")).await;
        assert_eq!(members(&upstream).last().unwrap(), expected);
    }
    assert_eq!(upstream.requests().len(), 2);
}
