//! Thoughts in the text of replies.

use contract::reply_engine::request;
use domain::FinishReason;
use llm_engine::{LlmOptions, LlmReplyEngine};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    fixture::{collect_reply, options},
    tools::after,
    upstream::{Response, Upstream, delta, finish, status, stream, text_stream, whole},
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
