//! Streams that end before their turn, are cancelled or are not accepted.

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServerBuilder, id_of},
    caller::Caller,
    chat_streams::{chat, names, stream_chat},
    engines::{contents, scripted_agent, turn},
    script::scripted,
    sse_client::EventStream,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_waits_can_be_cancelled() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let id = id_of(&api.conversation(json!({"agentId": agent})).await);
    let body = |message| json!({"agentId": agent, "conversationId": id, "message": message});
    let mut first = stream_chat(&api, body("one")).await;
    let call = script.next_call().await;
    let mut second = stream_chat(&api, body("two")).await;
    let queued = second.next_of_type("turn.queued").await;
    let path = format!("/api/turns/{}/cancel", queued["turnId"].as_str().unwrap());
    let cancelled = api.writer().request("POST", &path).send().await.ok();
    assert_eq!(
        (&cancelled["status"], &cancelled["startedAt"]),
        (&json!("cancelled"), &Value::Null)
    );
    assert_eq!(names(&second.remaining().await), ["turn.cancelled"]);
    call.answer("One.").await;
    first.remaining().await;
    script.assert_no_more_calls();
    assert_eq!(contents(&api, &id).await, ["one", "One."]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_the_stream_does_not_end_the_turn() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = json!({"agentId": agent, "message": "Hello"});
    let mut stream = stream_chat(&api, body).await;
    let call = script.next_call().await;
    stream.next_of_type("turn.started").await;
    call.send_text("Still ").await;
    drop(stream);
    call.send_text("here").await;
    let id = call.request.turn_id;
    call.end();
    loop {
        let turn = turn(&api, id).await;
        if turn["status"] != "in_progress" {
            assert_eq!(turn["reply"]["content"], "Still here");
            break;
        }
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_above_the_stream_limit_is_not_started() {
    let (engine, mut script) = scripted();
    let builder = ApiServerBuilder::default().engine("scripted", engine);
    let api = builder.setting("LIMITS__STREAMS", "1").start().await;
    let config = json!({"engine": "scripted"});
    let agent = id_of(&api.agent(json!({"name": "Ada", "config": config})).await);
    let body = json!({"agentId": agent, "message": "Hello", "stream": true});
    let mut first = stream_chat(&api, body.clone()).await;
    let call = script.next_call().await;
    let rejected = chat(&api, &body).send().await;
    rejected.problem(ProblemCode::TooManyStreams);
    assert_eq!(rejected.header("retry-after"), "1");
    call.answer("Yes.").await;
    first.remaining().await;
    drop(first);
    script.assert_no_more_calls();
    // The slot is free again when the stream has ended.
    let mut second = stream_chat(&api, body).await;
    script.next_call().await.answer("Again.").await;
    assert_eq!(
        names(&second.remaining().await).last(),
        Some(&"turn.completed")
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_key_and_the_turn_continues() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let made = json!({"name": "page", "scopes": ["chat:write"]});
    let key = api.writer().post("/api/keys", made).await;
    let key = key.json();
    let page = Caller {
        key: Some(key["secret"].as_str().expect("a key").to_owned()),
        ..api.writer()
    };
    let body = json!({"agentId": agent, "message": "Hello", "stream": true});
    let request = page.request("POST", "/api/chat").json(&body);
    let mut stream = EventStream::open(request).await;
    let call = script.next_call().await;
    stream.next_of_type("turn.started").await;
    let path = format!("/api/keys/{}", key["id"].as_str().expect("an id"));
    assert_eq!(api.writer().delete(&path).await.status, 204);
    assert_eq!(stream.next().await, None);
    let id = call.request.turn_id;
    call.answer("All the same").await;
    while turn(&api, id).await["status"] == "in_progress" {}
    assert_eq!(turn(&api, id).await["reply"]["content"], "All the same");
    api.stop().await;
}
