//! Streamed replies.

use domain::{FinishReason, ProblemCode, Usage};
use ports::ReplyError;
use serde_json::{Value, json};

use super::{DataStream, ask, ask_stored, completion, error};
use crate::{
    api_server::ApiServer,
    caller::Caller,
    engines::scripted_agent,
    script::{EngineCall, Script},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_has_the_official_chunks() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = ask(&agent, "Hello");
    let (mut stream, call) = tokio::join!(DataStream::open(api.writer(), body), async {
        let call = script.next_call().await;
        call.send_text("Good\n").await;
        call
    });
    let turn_id = call.request.turn_id;
    let created = turn_id.uuid().get_timestamp().expect("a time").to_unix().0;
    let chunk = |delta: Value, finish_reason: Value| {
        json!({
            "id": format!("chatcmpl-{turn_id}"), "object": "chat.completion.chunk",
            "created": created, "model": agent,
            "choices": [{
                "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason,
            }],
        })
    };
    let first = json!({"role": "assistant", "content": ""});
    assert_eq!(stream.next_json().await, chunk(first, Value::Null));
    let text = |text: &str| chunk(json!({"content": text}), Value::Null);
    assert_eq!(stream.next_json().await, text("Good\n"));
    call.use_tool("calculator", json!({"expression": "1"}))
        .await;
    call.send_text("morning").await;
    assert_eq!(stream.next_json().await, text("morning"));
    call.end_with(FinishReason::Length, None);
    assert_eq!(stream.next_json().await, chunk(json!({}), json!("length")));
    assert_eq!(stream.remaining().await, ["[DONE]"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn token_counts_are_sent_on_request_if_they_are_known() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let usage = Usage {
        input_tokens: 3,
        output_tokens: 2,
        ..Usage::default()
    };
    for known in [Some(usage), None] {
        let mut body = ask(&agent, "Hello");
        body["stream_options"] = json!({"include_usage": true});
        let (stream, ()) = tokio::join!(DataStream::open(api.writer(), body), async {
            let call = script.next_call().await;
            call.send_text("Hi").await;
            call.end_with(FinishReason::Stop, known);
        });
        let mut data = stream.remaining().await;
        assert_eq!(data.pop().as_deref(), Some("[DONE]"));
        let read = |data: &String| serde_json::from_str::<Value>(data).expect("JSON");
        let mut chunks: Vec<Value> = data.iter().map(read).collect();
        if known.is_some() {
            let last = chunks.pop().expect("the token counts");
            assert_eq!(last["choices"], json!([]));
            let usage = json!({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5});
            assert_eq!(last["usage"], usage);
        }
        assert_eq!(chunks.len(), 3);
        for chunk in chunks {
            assert_eq!(chunk.get("usage"), Some(&Value::Null), "{chunk}");
        }
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rules_are_streamed_too() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let mut stream = DataStream::open(api.writer(), ask(&agent, "Hello")).await;
    assert_eq!(stream.next_choice().await.0["role"], "assistant");
    assert!(stream.next_choice().await.0["content"].is_string());
    assert_eq!(stream.next_choice().await, (json!({}), json!("stop")));
    assert_eq!(stream.remaining().await, ["[DONE]"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_before_the_first_text_is_the_status() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut body = ask(&agent, "Hello");
    body["stream"] = true.into();
    let request = completion(&api.writer(), &body);
    let failing = error(request, 503, ProblemCode::EngineUnavailable);
    tokio::join!(failing, async {
        let call = script.next_call().await;
        call.fail(ReplyError::Unavailable("no".into()));
    });
    api.stop().await;
}

/// Opens a stream, and reads the first text.
async fn begun(caller: Caller, body: Value, script: &mut Script) -> (DataStream, EngineCall) {
    let (mut stream, call) = tokio::join!(DataStream::open(caller, body), async {
        let call = script.next_call().await;
        call.send_text("Well, ").await;
        call
    });
    assert_eq!(stream.next_choice().await.0["role"], "assistant");
    assert_eq!(stream.next_choice().await.0["content"], "Well, ");
    (stream, call)
}

/// Asserts that a stream ends with an error, and not as if it were whole.
async fn assert_fails(stream: DataStream, code: ProblemCode) {
    let request_id = super::header(&stream.0.response, "x-request-id");
    let data = stream.remaining().await;
    let [data] = data.as_slice() else {
        panic!("more than an error: {data:?}");
    };
    let data: Value = serde_json::from_str(data).expect("JSON");
    assert_eq!(data["error"]["code"], code.as_str(), "{data}");
    assert_eq!(data["error"]["request_id"], json!(request_id));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_failure_is_the_last_data() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = ask(&agent, "Hello");
    let (stream, call) = begun(api.writer(), body, &mut script).await;
    call.fail(ReplyError::InvalidReply("cut".into()));
    assert_fails(stream, ProblemCode::EngineFailed).await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_turn_and_a_revoked_credential_are_errors() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = ask_stored(&agent, "Hello", "c-1");
    let (stream, call) = begun(api.writer(), body, &mut script).await;
    let path = format!("/api/turns/{}/cancel", call.request.turn_id);
    api.writer().request("POST", &path).send().await.ok();
    assert_fails(stream, ProblemCode::TurnCancelled).await;

    let draft = json!({"name": "short", "scopes": ["chat:write"]});
    let made = api.writer().post("/api/keys", draft).await.created();
    let caller = api.caller(made["secret"].as_str());
    let body = ask(&agent, "Hello");
    let (stream, _call) = begun(caller, body, &mut script).await;
    let path = format!("/api/keys/{}", made["id"].as_str().expect("an id"));
    api.writer().delete(&path).await;
    assert_fails(stream, ProblemCode::InvalidCredentials).await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_a_stream_cancels_only_a_turn_that_is_not_stored() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    for is_stored in [false, true] {
        let body = if is_stored {
            ask_stored(&agent, "Hello", "c-1")
        } else {
            ask(&agent, "Hello")
        };
        let (stream, call) = begun(api.writer(), body, &mut script).await;
        drop(stream);
        if is_stored {
            let turn = call.request.turn_id;
            call.answer("Ada.").await;
            let mut reply = Value::Null;
            while reply.is_null() {
                reply = crate::engines::turn(&api, turn).await["reply"].clone();
            }
            assert_eq!(reply["content"], "Well, Ada.");
        } else {
            call.wait_until_stopped().await;
        }
    }
    api.stop().await;
}
