//! Responses that are not streamed.

use std::time::Duration;

use contract::reply_engine::request;
use domain::{FinishReason, Usage};
use llm_engine::LlmReplyEngine;
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    fixture::{collect_reply, options, reply_to},
    tools::{after, request_with},
    upstream::{Step, Upstream, end, head, piece, text_stream, whole},
};

/// The timeout for the first byte of a stream.
const SHORT: Duration = Duration::from_millis(50);

fn response(message: &Value, reason: &Value) -> Value {
    json!({"choices": [{"index": 0, "message": message, "finish_reason": reason}]})
}

#[tokio::test]
async fn a_response_is_one_delta_and_the_end() {
    let mut response = response(
        &json!({"role": "assistant", "content": "Hello"}),
        &json!("length"),
    );
    response["usage"] = json!({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9});
    response["model"] = "gpt-mock-1".into();
    let reply = reply_to([whole(200, "", &response)]).await;
    assert_eq!(reply.deltas(), ["Hello"]);
    assert_eq!(reply.model(), Some("gpt-mock-1"));
    let counted = Usage {
        input_tokens: 7,
        output_tokens: 2,
        ..Usage::default()
    };
    assert_eq!(reply.end(), (FinishReason::Length, Some(counted)));
}

#[rstest]
#[case(Value::Null, "content_filter", FinishReason::ContentFilter)]
#[case(json!(""), "stop", FinishReason::Stop)]
#[tokio::test]
async fn an_empty_response_has_no_delta(
    #[case] content: Value,
    #[case] reason: &str,
    #[case] expected: FinishReason,
) {
    let response = response(&json!({"content": content}), &json!(reason));
    let reply = reply_to([whole(200, "", &response)]).await;
    assert_eq!(reply.chunks.len(), 1);
    assert_eq!(reply.end().0, expected);
}

#[rstest]
#[case(json!({}))]
#[case(json!([]))]
#[case(json!({"choices": []}))]
#[case(json!({"choices": "none"}))]
#[case(response(&json!({"content": "Hello"}), &Value::Null))]
#[case(response(&json!({"content": "a".repeat(1024 * 1024)}), &json!("stop")))]
#[tokio::test]
async fn invalid_responses_are_rejected(#[case] response: Value) {
    let reply = reply_to([whole(200, "", &response)]).await;
    assert!(
        matches!(reply.error, Some(ports::ReplyError::InvalidReply(_))),
        "{reply:?}"
    );
}

/// An engine that requests no streams.
fn engine_without_streams(upstream: &Upstream) -> LlmReplyEngine {
    let mut options = options(upstream.base_url());
    options.streams = false;
    options.timeouts.first_byte = SHORT;
    LlmReplyEngine::new(options).expect("an engine")
}

#[rstest]
#[case::before_the_head(0)]
#[case::before_the_body(1)]
#[tokio::test]
async fn without_streams_the_engine_waits_for_the_response(#[case] pause: usize) {
    let response = response(&json!({"content": "Hello"}), &json!("stop"));
    let mut slow = vec![
        head("application/json"),
        piece(&response.to_string()),
        end(),
    ];
    slow.insert(pause, Step::Pause(4 * SHORT));
    let upstream = Upstream::start([slow]).await;
    let reply = collect_reply(&engine_without_streams(&upstream), request(0)).await;
    assert_eq!(reply.deltas(), ["Hello"]);
    assert_eq!(reply.end().0, FinishReason::Stop);
    let received = upstream.requests().remove(0);
    assert_eq!(received.header("accept"), Some("application/json"));
    assert_eq!(received.body["stream"], false);
    assert!(
        received.body.get("stream_options").is_none(),
        "{received:?}"
    );
    assert!(received.body.get("tool_choice").is_none(), "{received:?}");
}

#[tokio::test]
async fn a_stream_is_accepted_although_none_was_requested() {
    let upstream = Upstream::start([text_stream("Hello")]).await;
    let reply = collect_reply(&engine_without_streams(&upstream), request(0)).await;
    assert_eq!(reply.text(), "Hello");
}

#[tokio::test]
async fn tool_calls_work_without_streams() {
    let call =
        json!({"id": "a", "type": "function", "function": {"name": "time", "arguments": "{}"}});
    let calls = response(
        &json!({"content": null, "tool_calls": [call]}),
        &json!("tool_calls"),
    );
    let last = response(&json!({"content": "Noon."}), &json!("stop"));
    let upstream = Upstream::start([whole(200, "", &calls), whole(200, "", &last)]).await;
    let engine = engine_without_streams(&upstream);
    let request = request_with(&["time"]);
    let reply = collect_reply(&engine, request.clone()).await;
    let reply = collect_reply(&engine, after(request, &reply)).await;
    assert_eq!(reply.text(), "Noon.");
    let bodies = upstream.bodies();
    assert_eq!(bodies[0]["tool_choice"], "auto");
    let sent_back = &bodies[1]["messages"][2];
    assert_eq!(sent_back["content"], "", "{sent_back}");
    assert_eq!(sent_back["tool_calls"], json!([call]));
}
