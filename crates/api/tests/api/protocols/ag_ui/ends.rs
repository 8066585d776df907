//! Runs that end without a complete reply.

use ports::ReplyError;
use serde_json::json;

use super::client::{input, last, post, start, stream, turns};
use crate::{caller::Caller, engines::scripted_agent};

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_ends_the_run_with_an_error() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut run = start(&api, &agent, &input("t", "r", ("m1", "Hello"))).await;
    let call = script.next_call().await;
    call.send_text("Half a ").await;
    call.fail(ReplyError::InvalidReply("broken".into()));
    let events = run.remaining().await;
    let end = last(&events);
    assert_eq!(
        (&end["type"], &end["code"]),
        (&json!("RUN_ERROR"), &json!("engine_failed"))
    );
    let message = end["message"].as_str().expect("text");
    assert!(
        message.starts_with("The reply engine failed. "),
        "{message}"
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_cancels_all_open_turns_of_the_thread() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut running = start(&api, &agent, &input("t", "r1", ("m1", "Hello"))).await;
    let call = script.next_call().await;
    call.send_text("Half a ").await;
    let mut body = input("t", "r2", ("m2", "More"));
    body["protocolVersion"].take();
    let mut queued = start(&api, &agent, &body).await;
    queued.next_of_type("RUN_STARTED").await;
    assert_eq!(queued.next_of_type("CUSTOM").await.data["name"], "queued");
    let path = format!("/ag-ui/agents/{agent}/stop");
    let stop = async |caller: &Caller| {
        let request = caller
            .request("POST", &path)
            .json(&json!({"threadId": "t"}));
        request.open().await.status()
    };
    assert_eq!(stop(&api.writer()).await, 204);
    let events = running.remaining().await;
    assert_eq!(last(&events)["type"], "RUN_FINISHED");
    assert_eq!(last(&events)["outcome"], json!({"type": "cancelled"}));
    let events = queued.remaining().await;
    assert_eq!(last(&events)["type"], "RUN_ERROR");
    assert_eq!(last(&events)["code"], "turn_cancelled");
    let turns = turns(&api, &agent, "t").await;
    assert!(
        turns.iter().all(|turn| turn["status"] == "cancelled"),
        "{turns:?}"
    );
    script.assert_no_more_calls();
    assert_eq!(stop(&api.writer()).await, 204, "nothing to stop");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_ends_the_run_with_an_error() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let draft = json!({"name": "Page", "scopes": ["chat:write"]});
    let key = api.writer().post("/api/keys", draft).await.created();
    let page = api.caller(key["secret"].as_str());
    let body = input("t", "r", ("m1", "Hello"));
    let mut run = stream(post(&page, &agent, &body, &[]).await);
    let call = script.next_call().await;
    run.next_of_type("RUN_STARTED").await;
    let path = format!("/api/keys/{}", key["id"].as_str().expect("an id"));
    api.writer().delete(&path).await;
    let end = run.next_of_type("RUN_ERROR").await;
    assert_eq!(end.data["code"], "invalid_credentials");
    assert_eq!(run.next().await, None);
    call.answer("Hi.").await;
    api.stop().await;
}
