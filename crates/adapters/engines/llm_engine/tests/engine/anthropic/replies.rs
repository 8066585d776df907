//! Replies of the model.

use std::sync::Arc;

use contract::reply_engine::request;
use domain::{FinishReason, LlmSettings, ShowReasoning, Usage};
use llm_engine::{LlmOptions, LlmReplyEngine};
use ports::RequestedCall;
use rstest::rstest;
use serde_json::{Value, json};

use super::{fixture, options_of};
use crate::{
    fixture::collect_reply,
    tools::request_with,
    upstream::{
        Upstream, call_block, end, event, message, message_end, message_start, named, piece,
        redacted_block, stream_head, text_block, thinking_block, whole,
    },
};

#[tokio::test]
async fn text_arrives_in_pieces_and_reasoning_is_no_text() {
    let thinking = thinking_block(0, &["The user ", "greets."], "c2ln");
    let text = text_block(1, &["Hello", ", \"wörld\"\n", "<think>!"]);
    let (_upstream, engine) = fixture([message("end_turn", &[thinking, text])]).await;
    let reply = collect_reply(&engine, request(0)).await;
    assert_eq!(reply.text(), "Hello, \"wörld\"\n<think>!");
    let usage = Usage {
        input_tokens: 9,
        output_tokens: 5,
        ..Usage::default()
    };
    assert_eq!(reply.end(), (FinishReason::Stop, Some(usage)));
}

#[tokio::test]
async fn texts_between_which_the_model_thinks_are_paragraphs() {
    let blocks = [
        text_block(0, &["Let me see."]),
        thinking_block(1, &["Hm."], "c2ln"),
        text_block(2, &["It is", " noon."]),
        text_block(3, &[" Bye."]),
    ];
    let (_upstream, engine) = fixture([message("end_turn", &blocks)]).await;
    let reply = collect_reply(&engine, request(0)).await;
    assert_eq!(reply.text(), "Let me see.\n\nIt is noon. Bye.");
}

#[tokio::test]
async fn reasoning_is_sent_if_somebody_may_see_it() {
    let blocks = [
        thinking_block(0, &["The user ", "greets."], "c2ln"),
        redacted_block(1, "ZW5j"),
        thinking_block(2, &[], "c2ln"),
        thinking_block(3, &["Hm\0."], "c2ln"),
        text_block(4, &["Hello!"]),
    ];
    for (show, expected) in [
        (
            Some(ShowReasoning::Everyone),
            "The user greets.\n\nHm\u{fffd}.",
        ),
        (
            Some(ShowReasoning::Staff),
            "The user greets.\n\nHm\u{fffd}.",
        ),
        (Some(ShowReasoning::Never), ""),
        (None, ""),
    ] {
        let (_upstream, engine) = fixture([message("end_turn", &blocks)]).await;
        let mut request = request(0);
        Arc::make_mut(&mut request.agent).config.llm = Some(LlmSettings {
            show_reasoning: show,
            ..LlmSettings::default()
        });
        let reply = collect_reply(&engine, request).await;
        assert_eq!(
            (reply.reasoning(), reply.text()),
            (expected.to_owned(), "Hello!".to_owned())
        );
    }
}

#[rstest]
#[case("end_turn", FinishReason::Stop)]
#[case("stop_sequence", FinishReason::Stop)]
#[case("max_tokens", FinishReason::Length)]
#[case("model_context_window_exceeded", FinishReason::Length)]
#[case("refusal", FinishReason::ContentFilter)]
#[case("a_new_one", FinishReason::Stop)]
#[tokio::test]
async fn stop_reasons_are_read(#[case] reason: &str, #[case] expected: FinishReason) {
    let (_upstream, engine) = fixture([message(reason, &[text_block(0, &["Hi"])])]).await;
    assert_eq!(collect_reply(&engine, request(0)).await.end().0, expected);
}

#[tokio::test]
async fn calls_arrive_in_pieces() {
    let blocks = [
        redacted_block(0, "ZW5j"),
        call_block(1, "toolu_1", "time", &["", "{\"zone\": ", "\"UTC\"}"]),
        call_block(2, "toolu_2", "time", &[]),
    ];
    let (_upstream, engine) = fixture([message("tool_use", &blocks)]).await;
    let reply = collect_reply(&engine, request_with(&["time"])).await;
    let call = |arguments: &str| RequestedCall {
        function: "time".to_owned(),
        arguments: Some(arguments.to_owned()),
    };
    assert_eq!(reply.calls(), [call("{\"zone\": \"UTC\"}"), call("")]);
    assert_eq!(reply.end().0, FinishReason::Stop);
}

#[rstest]
#[case::cached(
    json!({"input_tokens": 3, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100, "output_tokens": 1}),
    json!({"output_tokens": 8, "output_tokens_details": {"thinking_tokens": 6}}),
    (123, 8, Some(100), Some(6))
)]
#[case::repeated_at_the_end(
    json!({"input_tokens": 3, "cache_read_input_tokens": null, "output_tokens": 0}),
    json!({"input_tokens": 4, "cache_read_input_tokens": 0, "output_tokens": 8, "output_tokens_details": null}),
    (4, 8, Some(0), None)
)]
#[case::implausible(
    json!({"input_tokens": 3, "cache_read_input_tokens": "many", "output_tokens": -1}),
    json!({"output_tokens": 8.0, "output_tokens_details": {"thinking_tokens": 9}}),
    (3, 8, None, None)
)]
#[tokio::test]
async fn cached_tokens_are_part_of_the_input(
    #[case] first: Value,
    #[case] last: Value,
    #[case] expected: (i64, i64, Option<i64>, Option<i64>),
) {
    let events = [
        vec![message_start(&first)],
        text_block(0, &["Hi"]),
        message_end("end_turn", &last),
    ]
    .concat();
    let response = named(&events).into_iter().chain([end()]).collect();
    let (_upstream, engine) = fixture([response]).await;
    let reply = collect_reply(&engine, request(0)).await;
    assert_eq!(reply.model(), Some("claude-test"));
    let usage = reply.end().1;
    let usage = usage.expect("counts");
    let counts = (usage.input_tokens, usage.output_tokens);
    let details = (usage.cached_input_tokens, usage.reasoning_tokens);
    assert_eq!((counts.0, counts.1, details.0, details.1), expected);
}

#[tokio::test]
async fn a_whole_answer_is_read() {
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "text", "text": "Let me see."},
            {"type": "tool_use", "id": "toolu_1", "name": "time", "input": {"at": 123_456_789_012_345_678_u64}},
        ],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 3, "output_tokens": 4},
    });
    let upstream = Upstream::start([whole(200, "", &body)]).await;
    let options = LlmOptions {
        streams: false,
        ..options_of(&upstream)
    };
    let engine = LlmReplyEngine::new(options).expect("an engine");
    let reply = collect_reply(&engine, request_with(&["time"])).await;
    assert_eq!(reply.text(), "Let me see.");
    assert_eq!(reply.model(), Some("claude-test"));
    let arguments = reply.calls().remove(0).arguments;
    assert_eq!(arguments.as_deref(), Some(r#"{"at":123456789012345678}"#));
    assert_eq!(upstream.bodies()[0]["stream"], false);
}

#[tokio::test]
async fn members_of_no_importance_have_any_type() {
    let events = [
        json!({"type": "message_start", "message": {"content": null, "usage": null, "stop_reason": 5}}),
        json!({"type": "content_block_start", "index": "0", "content_block": {"type": "text", "text": null}}),
        json!({"type": "content_block_delta", "index": null, "delta": {"type": "text_delta", "text": "Hi", "thinking": null}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": null}, "error": null}),
        json!({"type": "message_stop"}),
    ];
    let (_upstream, engine) = fixture([named(&events).into_iter().chain([end()]).collect()]).await;
    let reply = collect_reply(&engine, request(0)).await;
    assert_eq!(
        (reply.text(), reply.end()),
        ("Hi".to_owned(), (FinishReason::Stop, None))
    );
}

#[rstest]
#[case::no_block(json!({"type": "content_block_start", "index": 0}))]
#[case::a_list_in_place_of_reasoning(json!({"type": "content_block_start", "index": 0, "content_block": ["thinking"]}))]
#[tokio::test]
async fn malformed_events_are_rejected(#[case] event: Value) {
    let delta = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}});
    let response = named(&[event, delta]).into_iter().chain([end()]).collect();
    let (_upstream, engine) = fixture([response]).await;
    let reply = collect_reply(&engine, request(0)).await;
    assert!(reply.failure().contains("malformed"), "{reply:?}");
}

#[tokio::test]
async fn half_a_character_is_replaced() {
    let delta = |text: &str| {
        piece(&format!(
            "data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}\n\n"
        ))
    };
    let mut response = vec![stream_head(), delta("a"), delta("\\ud83e"), delta("b")];
    response.extend(message_end("end_turn", &json!({})).iter().map(event));
    response.push(end());
    let (_upstream, engine) = fixture([response]).await;
    assert_eq!(
        collect_reply(&engine, request(0)).await.text(),
        "a\u{fffd}b"
    );
}

#[tokio::test]
async fn unknown_events_and_blocks_are_ignored() {
    let blocks = [
        vec![
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "dream", "of": 1}}),
        ],
        vec![
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "dream_delta", "of": 2}}),
        ],
        vec![
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "weather"}),
        ],
        text_block(1, &["Hi"]),
    ];
    let (_upstream, engine) = fixture([message("end_turn", &blocks)]).await;
    assert_eq!(collect_reply(&engine, request(0)).await.text(), "Hi");
}
