//! Answers of servers that know no streams, and of those that are asked for none.

use std::{sync::Arc, time::Duration};

use contract::reply_engine::request;
use domain::{FinishReason, Usage};
use llm_engine::LlmReplyEngine;
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    given::{hear, heard, options},
    tools::{Bench, request_with},
    upstream::{Step, Upstream, end, head, piece, saying, whole},
};

/// How long the first byte of a stream may take.
const SHORT: Duration = Duration::from_millis(50);

fn answer(message: &Value, reason: &Value) -> Value {
    json!({"choices": [{"index": 0, "message": message, "finish_reason": reason}]})
}

#[tokio::test]
async fn a_whole_answer_is_one_delta_and_its_end() {
    let mut answer = answer(
        &json!({"role": "assistant", "content": "Hello"}),
        &json!("length"),
    );
    answer["usage"] = json!({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9});
    let said = heard([whole(200, "", &answer)]).await;
    assert_eq!(said.deltas(), ["Hello"]);
    let counted = Usage {
        input_tokens: 7,
        output_tokens: 2,
    };
    assert_eq!(said.end(), (FinishReason::Length, Some(counted)));
}

#[tokio::test]
async fn an_empty_answer_has_no_delta() {
    let answer = answer(&json!({"content": null}), &json!("content_filter"));
    let said = heard([whole(200, "", &answer)]).await;
    assert_eq!(said.chunks.len(), 1);
    assert_eq!(said.end().0, FinishReason::ContentFilter);
}

#[rstest]
#[case(json!({}))]
#[case(json!([]))]
#[case(json!({"choices": []}))]
#[case(json!({"choices": "none"}))]
#[case(answer(&json!({"content": "Hello"}), &Value::Null))]
#[case(answer(&json!({"content": ""}), &json!("stop")))]
#[case(answer(&json!({"content": "a".repeat(1024 * 1024)}), &json!("stop")))]
#[tokio::test]
async fn what_is_no_answer_is_bad(#[case] answer: Value) {
    let said = heard([whole(200, "", &answer)]).await;
    assert!(
        matches!(said.error, Some(ports::ReplyError::BadAnswer(_))),
        "{said:?}"
    );
}

/// An engine that asks for whole answers.
fn engine_without_streams(upstream: &Upstream) -> LlmReplyEngine {
    let mut options = options(upstream.base_url());
    options.streams = false;
    options.times.first_byte = SHORT;
    LlmReplyEngine::new(options).expect("an engine")
}

#[rstest]
#[case::before_the_head(0)]
#[case::before_the_body(1)]
#[tokio::test]
async fn asks_for_no_stream_where_it_is_told_so_and_waits_for_the_answer(#[case] pause: usize) {
    let answer = answer(&json!({"content": "Hello"}), &json!("stop"));
    let mut slow = vec![head("application/json"), piece(&answer.to_string()), end()];
    slow.insert(pause, Step::Pause(4 * SHORT));
    let upstream = Upstream::answering([slow]).await;
    let said = hear(&engine_without_streams(&upstream), request(0)).await;
    assert_eq!(said.deltas(), ["Hello"]);
    assert_eq!(said.end().0, FinishReason::Stop);
    let asked = upstream.asked().remove(0);
    assert_eq!(asked.header("accept"), Some("application/json"));
    assert_eq!(asked.body["stream"], false);
    assert!(asked.body.get("stream_options").is_none(), "{asked:?}");
    assert!(asked.body.get("tool_choice").is_none(), "{asked:?}");
}

#[tokio::test]
async fn a_server_that_streams_although_it_should_not_is_understood() {
    let upstream = Upstream::answering([saying("Hello")]).await;
    let said = hear(&engine_without_streams(&upstream), request(0)).await;
    assert_eq!(said.text(), "Hello");
}

#[tokio::test]
async fn calls_tools_without_a_stream_and_tells_text_beside_each_call() {
    let call =
        json!({"id": "a", "type": "function", "function": {"name": "time", "arguments": "{}"}});
    let calls = answer(
        &json!({"content": null, "tool_calls": [call]}),
        &json!("tool_calls"),
    );
    let last = answer(&json!({"content": "Noon."}), &json!("stop"));
    let upstream = Upstream::answering([whole(200, "", &calls), whole(200, "", &last)]).await;
    let bench: Arc<Bench> = Arc::default();
    let engine = engine_without_streams(&upstream);
    let said = hear(&engine, request_with(&bench, &["time"])).await;
    assert_eq!(said.text(), "Noon.");
    assert_eq!(bench.calls().len(), 1);
    let bodies = upstream.bodies();
    assert_eq!(bodies[0]["tool_choice"], "auto");
    let told_back = &bodies[1]["messages"][2];
    assert_eq!(told_back["content"], "", "{told_back}");
    assert_eq!(told_back["tool_calls"], json!([call]));
}
