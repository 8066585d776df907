//! Thoughts in the text of replies.

use std::sync::Arc;

use contract::reply_engine::request;
use domain::{FinishReason, LlmSettings, ShowReasoning};
use llm_engine::{LlmOptions, LlmReplyEngine};
use ports::ModelChunk;
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    fixture::{collect_reply, options},
    tools::after,
    upstream::{
        Response, Step, Upstream, delta, event, finish, status, stream, stream_head, text_stream,
        whole,
    },
};

const WHOLE: &str = "<think>The user is rude.</think>\n\nHello!";

fn streamed() -> Response {
    let pieces = ["<think>", "The user is rude.", "</think>\n\n", "Hello!"];
    stream(&[pieces.map(delta).as_slice(), &[finish("stop")]].concat())
}

fn unstreamed() -> Response {
    let choice = json!({"message": {"content": WHOLE}, "finish_reason": "stop"});
    whole(200, "", &json!({"choices": [choice]}))
}

fn models_of(owner: &str) -> Response {
    let model = json!({"id": "m", "object": "model", "owned_by": owner});
    whole(200, "", &json!({"object": "list", "data": [model]}))
}

async fn reply(responses: Vec<Response>, think_tags: Option<bool>) -> (String, usize) {
    let upstream = Upstream::start(responses).await;
    let options = LlmOptions {
        think_tags,
        ..options(upstream.base_url())
    };
    let engine = LlmReplyEngine::new(options).expect("an engine");
    let reply = collect_reply(&engine, request(0)).await;
    assert_eq!(reply.end().0, FinishReason::Stop);
    (reply.text(), upstream.requests().len())
}

#[rstest]
#[case::in_a_stream(streamed())]
#[case::not_streamed(unstreamed())]
#[tokio::test]
async fn the_setting_decides_whether_thoughts_are_removed(#[case] response: Response) {
    let removed = reply(vec![response.clone()], Some(true)).await;
    assert_eq!(removed, ("Hello!".to_owned(), 1));
    assert_eq!(
        reply(vec![response], Some(false)).await,
        (WHOLE.to_owned(), 1)
    );
}

#[rstest]
#[case::ollama(models_of("library"), "Hello!")]
#[case::llama_cpp(models_of("llamacpp"), "Hello!")]
#[case::another_server(models_of("vllm"), WHOLE)]
#[case::no_list(status(404), WHOLE)]
#[tokio::test]
async fn without_a_setting_the_list_of_models_decides(
    #[case] list: Response,
    #[case] expected: &str,
) {
    let expected = (expected.to_owned(), 2);
    for response in [streamed(), unstreamed()] {
        assert_eq!(reply(vec![response, list.clone()], None).await, expected);
    }
}

#[tokio::test]
async fn the_list_is_not_requested_for_other_replies() {
    let expected = ("<thi is no tag".to_owned(), 1);
    assert_eq!(reply(vec![text_stream(&expected.0)], None).await, expected);
}

#[tokio::test]
async fn a_reply_of_thoughts_alone_is_empty() {
    for reason in ["stop", "length"] {
        let response = stream(&[delta("<think>Hm"), finish(reason)]);
        let upstream = Upstream::start([response]).await;
        let options = LlmOptions {
            think_tags: Some(true),
            ..options(upstream.base_url())
        };
        let engine = LlmReplyEngine::new(options).unwrap();
        let reply = collect_reply(&engine, request(0)).await;
        assert!(reply.error.is_none(), "{reply:?}");
        assert_eq!(reply.text(), "");
    }
}

/// The reasoning and the text of a reply, each joined.
async fn shown(
    responses: Vec<Response>,
    show: Option<ShowReasoning>,
    streams: bool,
) -> (String, String) {
    let upstream = Upstream::start(responses).await;
    let options = LlmOptions {
        think_tags: Some(true),
        streams,
        ..options(upstream.base_url())
    };
    let engine = LlmReplyEngine::new(options).expect("an engine");
    let mut request = request(0);
    Arc::make_mut(&mut request.agent).config.llm = Some(LlmSettings {
        show_reasoning: show,
        ..LlmSettings::default()
    });
    let reply = collect_reply(&engine, request).await;
    assert_eq!(reply.end().0, FinishReason::Stop);
    let is_reasoning = |chunk: &ModelChunk| matches!(chunk, ModelChunk::Reasoning(_));
    let first_text = reply.chunks.iter().position(|it| !is_reasoning(it));
    assert!(
        !reply.chunks[first_text.expect("an end")..]
            .iter()
            .any(is_reasoning)
    );
    (reply.reasoning(), reply.text())
}

fn reasoning(name: &str, text: &str) -> Value {
    json!({"choices": [{"delta": {name: text}}]})
}

#[rstest]
#[case::in_tags(streamed(), true)]
#[case::in_tags_of_a_document(unstreamed(), false)]
#[case::in_a_member(
    stream(&[reasoning("reasoning_content", "The user "), reasoning("reasoning_content", "is rude."), delta("Hello!"), finish("stop")]),
    true,
)]
#[case::in_another_member(
    stream(&[reasoning("reasoning", "The user is rude."), delta("Hello!"), finish("stop")]),
    true,
)]
#[tokio::test]
async fn reasoning_precedes_the_reply_if_somebody_may_see_it(
    #[case] response: Response,
    #[case] streams: bool,
) {
    for (show, expected) in [
        (Some(ShowReasoning::Everyone), "The user is rude."),
        (Some(ShowReasoning::Staff), "The user is rude."),
        (Some(ShowReasoning::Never), ""),
        (Some(ShowReasoning::read("nobody-yet")), ""),
        (None, ""),
    ] {
        let shown = shown(vec![response.clone()], show, streams).await;
        assert_eq!(
            shown,
            (expected.to_owned(), "Hello!".to_owned()),
            "{show:?}"
        );
    }
}

#[tokio::test]
async fn reasoning_before_a_broken_connection_is_followed_by_that_of_the_next_try() {
    let broken = vec![
        stream_head(),
        event(&reasoning("reasoning_content", "Hm.")),
        Step::Cut,
    ];
    let whole = stream(&[
        reasoning("reasoning_content", "Let me see."),
        delta("Hello!"),
        finish("stop"),
    ]);
    let shown = shown(vec![broken, whole], Some(ShowReasoning::Everyone), true).await;
    assert_eq!(
        shown,
        ("Hm.\n\nLet me see.".to_owned(), "Hello!".to_owned())
    );
}

#[tokio::test]
async fn thoughts_are_not_sent_back_with_tool_calls() {
    let call = json!({"choices": [{"delta": {"tool_calls": [
        {"index": 0, "id": "a", "function": {"name": "time", "arguments": "{}"}}
    ]}}]});
    let first = stream(&[
        delta("<think>Hm</think>Let me look."),
        call,
        finish("tool_calls"),
    ]);
    let upstream = Upstream::start([first, text_stream("Noon.")]).await;
    let options = LlmOptions {
        think_tags: Some(true),
        ..options(upstream.base_url())
    };
    let engine = LlmReplyEngine::new(options).unwrap();
    let reply = collect_reply(&engine, request(0)).await;
    assert_eq!(reply.text(), "Let me look.");
    collect_reply(&engine, after(request(0), &reply)).await;
    let sent: Value = upstream.bodies().remove(1);
    assert_eq!(sent["messages"][2]["content"], "Let me look.");
    assert!(!sent.to_string().contains("Hm"), "{sent}");
}
